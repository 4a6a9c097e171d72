import { mkdtemp, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../processes/remove-tree.ts";
import { handleFileName, type Handle } from "../handle.ts";
import { kubeconfig } from "../kubeconfig.ts";
import { startBinariesCluster } from "./binaries-cluster.ts";
import { administrator, createIdentities, nodeUsers, type Identities } from "./identities.ts";
import { Settings, type Message } from "./settings.ts";
import { once } from "node:events";
import { createServer } from "node:http";
import type { Cluster } from "./cluster.ts";
import { messageOf } from "../../../../src/lib/errors.ts";

/**
 * Lets other processes stop and start the API server: `POST /apiserver/stop|start|restart` over
 * HTTP on a Unix socket, and a second one: `POST /second-apiserver/stop|start`. Responds with 200
 * when the action is complete (a start: ready) and, for the second one, its URL, or with 500 and
 * the reason. Actions run one at a time.
 */
async function openControlSocket(path: string, cluster: Cluster): Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  const actions: Record<string, () => Promise<string | void>> = {
    ...cluster.nodeActions,
    "/apiserver/stop": () => cluster.stopApiServer(),
    "/apiserver/start": () => cluster.startApiServer(),
    "/apiserver/restart": async () => {
      await cluster.stopApiServer();
      await cluster.startApiServer();
    },
    "/second-apiserver/stop": () => cluster.stopSecondApiServer(),
    "/second-apiserver/start": () => cluster.startSecondApiServer(),
  };
  const server = createServer({ keepAliveTimeout: 1 }, (request, response) => {
    const action = request.method === "POST" ? actions[request.url ?? ""] : undefined;
    request.resume();
    if (action === undefined) {
      response.writeHead(404).end();
      return;
    }
    last = last.then(action).then(
      (url) => void response.writeHead(200).end(url ?? ""),
      (error: unknown) => void response.writeHead(500).end(messageOf(error)),
    );
  });
  server.listen(path);
  await once(server, "listening");
}

/**
 * Owns one control plane while its standard input is open. The other end of that pipe closes with
 * the process that started it, even after kill -9; then all servers are stopped and the directory
 * is removed. It has its own process group: Ctrl-C at the terminal reaches the owner only.
 */
const settings = Settings.parse(JSON.parse(process.argv[2] ?? ""));
const { node } = settings;
const directory = node?.directory ?? (await mkdtemp(join(tmpdir(), "vaultsync-control-plane-")));
process.chdir(directory);

function send(message: Message): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function startCluster(options: {
  directory: string;
  identities: Identities;
  note: (line: string) => void;
  signal: AbortSignal;
}) {
  const { provision, nodePrograms } = settings;
  if (node !== undefined && nodePrograms !== undefined && provision.kind === "binaries") {
    const { startNodeCluster } = await import("../../node/supervisor/node-cluster.ts");
    const programs = { ...nodePrograms, controlPlane: provision.directory };
    return startNodeCluster({ ...options, layout: node, programs });
  }
  switch (provision.kind) {
    case "binaries":
      return startBinariesCluster({ ...options, binaries: provision.directory });
    case "k3s": {
      // Loaded here only, because testcontainers takes a while.
      const { startK3sCluster } = await import("./k3s-cluster.ts");
      return startK3sCluster({ ...options, image: provision.image, kubectl: provision.kubectl });
    }
  }
}

const lifetime = new AbortController();

/** Ends the process, also during the start: the signal kills its children, and the start fails. */
function end(code: number): void {
  if (lifetime.signal.aborted) return;
  lifetime.abort();
  // The owner of a node removes its directory, when nothing is mounted there.
  if (node !== undefined) process.exit(code);
  // The killed processes may have open files for a short time.
  void removeTree(directory).finally(() => process.exit(code));
}

process.stdout.on("error", () => {});
process.stdin
  .on("end", () => end(0))
  .on("error", () => end(0))
  .resume();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end(0));

try {
  const started = performance.now();
  const identities = await createIdentities(
    directory,
    settings.users,
    node === undefined ? [] : nodeUsers,
  );
  const note = (line: string): void => send({ event: "note", line });
  const options = { directory, identities, note, signal: lifetime.signal };
  const cluster = await startCluster(options);
  const defaultServiceAccount = performance.now() - started;
  const controlSocket = join(directory, "control.sock");
  await openControlSocket(controlSocket, cluster);
  const { access } = cluster;
  const admin = join(directory, "kubeconfig");
  await writeFile(admin, kubeconfig({ ...access, user: administrator }), { mode: 0o600 });
  const handle: Handle = {
    directory,
    pid: node?.owner ?? process.pid,
    server: access.server,
    ca: access.ca,
    kubeconfig: admin,
    kubectl: cluster.kubectl,
    auditLog: cluster.auditLog,
    controlSocket,
    ...(node !== undefined && {
      node: { ...node, ctr: join(settings.nodePrograms?.containerd ?? "", "ctr") },
    }),
    users: [...identities.users],
    timings: {
      ...cluster.timings,
      binaries: settings.binariesMs,
      defaultServiceAccount,
      total: settings.binariesMs + defaultServiceAccount,
    },
  };
  const file = join(directory, handleFileName);
  await writeFile(`${file}.tmp`, JSON.stringify(handle, undefined, 2), { mode: 0o600 });
  await rename(`${file}.tmp`, file);
  send({ event: "ready", directory });
} catch (error) {
  send({ event: "failed", message: messageOf(error) });
  end(1);
}
