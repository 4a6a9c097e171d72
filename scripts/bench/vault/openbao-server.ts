import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile, mkdtempDisposable } from "node:fs/promises";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../../test/lab/control-plane/supervisor/free-port.ts";
import { sendRequest, type VaultResponse } from "../../../test/lab/vault/vault-client.ts";
import { cpuSeconds } from "../operator/process-usage.ts";
import {
  expectResponse,
  expectStatus,
  VALUE,
  type BenchClient,
  type BenchContent,
  type BenchServer,
} from "./bench-server.ts";

/** Path of the key-value engine, version 2. */
const MOUNT = "secret";
const START_MS = 30_000;
/** Requests in flight while the content is written. */
const WRITERS = 16;

/**
 * One node with integrated storage and an audit log, both in files; no TLS, as our server in a
 * benchmark.
 */
const configuration = (directory: string, url: URL, clusterPort: number): string => `
ui = false
log_level = "error"
api_addr = "${url.origin}"
cluster_addr = "http://127.0.0.1:${clusterPort}"
storage "raft" {
  path = "${directory}"
  node_id = "bench"
}
listener "tcp" {
  address = "${url.host}"
  cluster_address = "127.0.0.1:${clusterPort}"
  tls_disable = true
}
audit "file" "bench" {
  options {
    file_path = "${join(directory, "audit.log")}"
  }
}
`;

type Call = (method: string, path: string, body?: object) => Promise<VaultResponse>;

/** Returns a client of the API on one connection. */
function connect(url: URL, token: string, agent: Agent): Call {
  const headers = { "x-vault-token": token, "content-type": "application/json" };
  return (method, path, body) =>
    sendRequest(`${url.origin}/v1/${path}`, {
      method,
      headers,
      agent,
      ...(body && { body: JSON.stringify(body) }),
    });
}

/** Resolves with the process when its server responds. */
async function startProcess(
  program: string,
  owned: AsyncDisposableStack,
): Promise<{ pid: number; url: URL }> {
  const directory = owned.use(
    await mkdtempDisposable(join(tmpdir(), "vaultsync-bench-openbao-")),
  ).path;
  const url = new URL(`http://127.0.0.1:${await freePort()}`);
  const file = join(directory, "server.hcl");
  await writeFile(file, configuration(directory, url, await freePort()));
  const child = spawn(program, ["server", "-config", file], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit").then(
    () => "exited",
    (error: unknown) => String(error),
  );
  owned.defer(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-2_000)));
  }
  const end = performance.now() + START_MS;
  const responds = (): Promise<boolean> =>
    sendRequest(`${url.origin}/v1/sys/seal-status`, { method: "GET" }).then(
      () => true,
      () => false,
    );
  while (!(await responds())) {
    const ended = await Promise.race([exited, sleep(50, undefined)]);
    if (ended !== undefined || performance.now() > end)
      throw new Error(`${program} ${ended ?? "does not respond"}: ${log}`);
  }
  return { pid: child.pid ?? 0, url };
}

/** Resolves when the path responds with 200. */
async function untilAvailable(call: Call, path: string): Promise<void> {
  const end = performance.now() + START_MS;
  for (;;) {
    const response = await call("GET", path);
    if (response.status === 200) return;
    if (performance.now() > end) expectStatus(response, 200);
    await sleep(50);
  }
}

/** Initializes and unseals the server, and returns its root token when it is active. */
async function initialize(call: Call): Promise<string> {
  const init = await call("PUT", "sys/init", { secret_shares: 1, secret_threshold: 1 });
  const { keys_base64, root_token } = expectStatus(init, 200).json();
  expectStatus(await call("PUT", "sys/unseal", { key: keys_base64[0] }), 200);
  await untilAvailable(call, "sys/health");
  return root_token;
}

/** Writes the secrets that are listed. */
async function fill(call: Call, count: number): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      const name = `listed-${String(next++).padStart(6, "0")}`;
      expectStatus(
        await call("POST", `${MOUNT}/data/listed/${name}`, { data: { value: VALUE } }),
        200,
      );
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

async function openClient(call: Call, index: number): Promise<BenchClient> {
  const path = `${MOUNT}/data/own/${index}`;
  const write = (): Promise<void> => expectResponse(call("POST", path, { data: { value: VALUE } }));
  const list = (): Promise<void> =>
    expectResponse(call("GET", `${MOUNT}/metadata/listed?list=true`));
  await write();
  return {
    health: () => expectResponse(call("GET", "sys/health")),
    read: () => expectResponse(call("GET", path)),
    write,
    list,
    poll: list,
  };
}

/** Starts OpenBao in a temporary directory, with a token for each client. */
export async function startOpenBao(
  program: string,
  { clients, listed }: BenchContent,
): Promise<BenchServer> {
  await using owned = new AsyncDisposableStack();
  const { pid, url } = await startProcess(program, owned);
  const open = (token: string, maxSockets = 1): Call => {
    const agent = owned.adopt(new Agent({ keepAlive: true, maxSockets }), (used) => used.destroy());
    return connect(url, token, agent);
  };
  const root = open(await initialize(open("")), WRITERS);
  expectStatus(
    await root("POST", `sys/mounts/${MOUNT}`, { type: "kv", options: { version: "2" } }),
    204,
  );
  // It upgrades the engine to versions after it has responded.
  await untilAvailable(root, `${MOUNT}/config`);
  const { version } = (await root("GET", "sys/health")).json();
  const policy = `path "${MOUNT}/*" { capabilities = ["create", "read", "update", "list"] }`;
  expectStatus(await root("PUT", "sys/policies/acl/bench", { policy }), 204);
  await fill(root, listed);
  const opened: BenchClient[] = [];
  for (let index = 0; index < clients; index += 1) {
    const { auth } = expectStatus(
      await root("POST", "auth/token/create", { policies: ["bench"] }),
      200,
    ).json();
    opened.push(await openClient(open(auth.client_token), index));
  }
  const running = owned.move();
  return {
    label: `OpenBao ${version}`,
    clients: opened,
    cpuSeconds: () => cpuSeconds(pid),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
