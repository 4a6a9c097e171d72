import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { TestDirectory } from "../lab/test-directory.ts";
import { certificate } from "../lab/certificates.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { scopeString, sendRequest, VaultClient } from "../lab/vault/vault-client.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const directory = new TestDirectory();
const running = new Set<VaultsyncProcess>();
afterEach(async () => {
  for (const process_ of running) await process_.stop("SIGKILL");
  running.clear();
});
const path = (name: string): string => directory.join(name);

/** Runs a command that starts no server. @throws Error with what it printed when it fails */
async function inProcess(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args);
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return stdout;
}

async function serve(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<VaultServerProcess> {
  const server = await VaultServerProcess.start(args, { env });
  running.add(server);
  return server;
}

const logIn = (url: string, email: string, password: string) =>
  sendRequest(url + operationPath.generate_access_token, {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password, scope: scopeString(), expiration_hours: 1 }),
  });

test("serve --dev prints its url and users in one line and exits 0 on SIGTERM", async () => {
  const server = await serve(["--dev", "--dev-users", "Ann@example.com, bob@example.com"]);
  expect([...server.passwords.keys()]).toEqual(["ann@example.com", "bob@example.com"]);
  const [[email, password] = ["", ""]] = server.passwords;
  const response = await logIn(server.url, email, password);
  expect(response.status).toBe(200);
  // A client that keeps its connection does not keep the server from stopping.
  await fetch(`${server.url}/healthz`);
  expect(await server.stop("SIGTERM")).toBe(0);
  expect(server.stdout.trimEnd().split("\n")).toHaveLength(1);
  for (const secret of [password, response.json().access_token])
    expect(server.stderr).not.toContain(secret);
  expect(JSON.parse(server.stderr.split("\n")[0] ?? "")).toMatchObject({
    program: "vault",
    level: "info",
  });
});

test("serves, stops and serves again with a generated key and added users", async () => {
  const [key, data] = [path("master.key"), path("vault.db")];
  await inProcess(["vault", "key", "generate", key]);
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  await writeFile(path("password"), "from-a-file-81c2\n");
  await inProcess([
    "vault",
    "user",
    "add",
    "Ann@example.com",
    "--data",
    data,
    "--master-key-file",
    key,
    "--password-file",
    path("password"),
  ]);
  expect((await stat(data)).mode & 0o777).toBe(0o600);

  const first = await serve(["--data", data, "--master-key-file", key]);
  expect(first.stdout).toBe(
    `{"url":"${first.url}","metrics_url":"${first.metricsUrl}","mail_dir":"${data}-mail"}\n`,
  );
  expect((await stat(`${data}-mail`)).mode & 0o777).toBe(0o700);
  const added = await VaultsyncProcess.run(
    ["vault", "user", "add", "bob@example.com", "--data", data, "--master-key-file", key],
    {
      input: "from-standard-input-77aa\nsecond line\n",
    },
  );
  expect(added).toEqual({ code: 0, stdout: "", stderr: "added bob@example.com\n" });
  expect((await logIn(first.url, "bob@example.com", "from-standard-input-77aa")).status).toBe(200);
  const { access_token: token } = (
    await logIn(first.url, "ann@example.com", "from-a-file-81c2")
  ).json();
  await new VaultClient(first.url, "ann@example.com", { token }).call("protect", {
    key_name: "a",
    key_value: "kept",
  });
  expect(await first.stop("SIGINT")).toBe(0);

  const second = await serve([], {
    VAULTSYNC_VAULT_DATA: data,
    VAULTSYNC_VAULT_MASTER_KEY: await readFile(key, "utf8"),
    VAULTSYNC_VAULT_LISTEN: "127.0.0.1:0",
  });
  const response = await new VaultClient(second.url, "ann@example.com", { token }).call("expose", {
    key_name: "a",
  });
  expect(response.json().key_value).toBe("kept");
}, 30_000);

test("lists users, sets a password and revokes tokens while the server runs", async () => {
  const [key, data] = [path("master.key"), path("vault.db")];
  await inProcess(["vault", "key", "generate", key]);
  const user = async (command: string, email: string[], input = "") =>
    VaultsyncProcess.run(["vault", "user", command, ...email], {
      input,
      env: { VAULTSYNC_VAULT_DATA: data, VAULTSYNC_VAULT_MASTER_KEY_FILE: key },
    });
  const [ann, bob] = ["ann@example.com", "bob@example.com"];
  for (const email of [bob, ann]) await user("add", [email], "the-first-81c2\n");
  expect(await user("list", [])).toEqual({ code: 0, stdout: `${ann}\n${bob}\n`, stderr: "" });
  await using server = await serve(["--data", data, "--master-key-file", key]);
  const [one, other] = [
    await VaultClient.connect(server.url, ann, "the-first-81c2"),
    await VaultClient.connect(server.url, bob, "the-first-81c2"),
  ];
  const outcomes = async () => [
    (await one.call("list_file")).outcome(),
    (await other.call("list_file")).outcome(),
  ];
  expect((await user("revoke-tokens", ["Bob@example.com"])).stderr).toBe(
    "ended the sessions and tokens of bob@example.com\n",
  );
  expect(await outcomes()).toEqual(["200", "401 invalid_token"]);
  expect((await logIn(server.url, bob, "the-first-81c2")).status).toBe(200);
  expect((await user("set-password", [ann], "the-second-77aa\n")).stderr).toBe(
    "set the password of ann@example.com\n",
  );
  expect(await outcomes()).toEqual(["401 invalid_token", "401 invalid_token"]);
  expect((await logIn(server.url, ann, "the-first-81c2")).status).toBe(401);
  expect((await logIn(server.url, ann, "the-second-77aa")).status).toBe(200);
  for (const command of ["set-password", "revoke-tokens"]) {
    const missing = await user(command, ["nobody@example.com"], "the-third-5511\n");
    expect(missing.code).toBe(1);
    expect(missing.stderr).toEqual(expect.stringContaining("no user has this email"));
  }
}, 60_000);

test("exits 2 on wrong usage and 1 on failure, with nothing on standard output", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const [wrong, failed, metrics] = await Promise.all([
    VaultsyncProcess.run(["vault", "serve", "--data", "x.db"]),
    VaultsyncProcess.run(["vault", "serve", "--dev", "--listen", `127.0.0.1:${port}`]),
    VaultsyncProcess.run([
      "vault",
      "serve",
      "--dev",
      "--listen",
      "127.0.0.1:0",
      "--metrics-listen",
      `127.0.0.1:${port}`,
    ]),
  ]);
  taken.close();
  expect(wrong).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("refusing to start without a master key"),
  });
  expect(failed).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("choose another with --listen HOST:PORT"),
  });
  expect(metrics).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("choose another with --metrics-listen"),
  });
}, 60_000);

test("user add rejects an existing user, an empty password and an invalid email", async () => {
  const [key, data] = [path("master.key"), path("vault.db")];
  await inProcess(["vault", "key", "generate", key]);
  const add = async (email: string, password: string) => {
    await writeFile(path("password"), password);
    return inProcess([
      "vault",
      "user",
      "add",
      email,
      "--data",
      data,
      "--master-key-file",
      key,
      "--password-file",
      path("password"),
    ]);
  };
  const missing = await VaultsyncProcess.run(
    ["vault", "user", "add", "ann@example.com", "--data", data],
    {
      input: "one-and-only-31",
    },
  );
  expect(missing).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining("--master-key-file FILE"),
  });
  await add("ann@example.com", "one-and-only-31");
  await expect(add("ANN@example.com", "two-and-more-42")).rejects.toThrow("already exists");
  await expect(add("bob@example.com", "")).rejects.toThrow("12 to 1024 characters");
  await expect(add("nobody", "three-and-more-53")).rejects.toThrow("invalid email address");
});

test.each([
  ["nowhere to keep data", [], "--data FILE"],
  [
    "an ephemeral server with a data file",
    ["--dev", "--data", "vault.db"],
    "--dev and --data exclude each other",
  ],
  ["accounts for a lasting server", ["--dev-users", "a@example.com"], "requires --dev"],
  ["plain http beyond this machine", ["--dev", "--listen", "0.0.0.0:0"], "--allow-http-listen"],
  [
    "sessions over plain http",
    ["--dev", "--app-url", "http://vault.example.com"],
    "an https --app-url",
  ],
  [
    "no address of the application",
    ["--dev", "--app-url", "vault.example.com/app"],
    "https://HOST",
  ],
  ["no network of proxies", ["--dev", "--trust-proxy", "everybody"], "10.0.0.0/8"],
  ["half of TLS", ["--dev", "--tls-cert-file", "x"], "--tls-key-file"],
  ["no port", ["--dev", "--listen", "localhost"], "HOST:PORT"],
  ["a port out of range", ["--dev", "--listen", "localhost:65536"], "HOST:PORT"],
  ["a password on the command line", ["--dev", "--password", "x"], "unknown option"],
  [
    "PROXY headers of no proxy",
    ["--dev", "--proxy-protocol"],
    "--proxy-protocol requires --trust-proxy",
  ],
  [
    "a contradiction about signing up",
    ["--dev", "--sign-up", "closed", "--sign-up-domains", "example.com"],
    "drop one of them",
  ],
  ["an unknown policy", ["--dev", "--expired", "maybe"], "serve, deny"],
])("rejects wrong usage with a remedy: %s", async (_what, args, advice) => {
  const result = await runInProcess(["vault", "serve", ...args]);
  expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(advice) });
});

test("rejects a missing or malformed master key file", async () => {
  await writeFile(path("bad.key"), "short");
  const serveWith = (key: string) =>
    inProcess(["vault", "serve", "--data", path("v.db"), "--master-key-file", key]);
  await expect(serveWith(path("bad.key"))).rejects.toThrow("32 bytes in base64");
  await expect(serveWith(path("none.key"))).rejects.toThrow(
    `master key file not found: ${path("none.key")} (--master-key-file)`,
  );
});

test("key generate never overwrites a file", async () => {
  await writeFile(path("master.key"), "precious");
  await expect(inProcess(["vault", "key", "generate", path("master.key")])).rejects.toThrow(
    "master.key exists and is not replaced",
  );
  expect(await readFile(path("master.key"), "utf8")).toBe("precious");
});

test("--help lists options, variables and examples", async () => {
  const printed = await inProcess(["vault", "serve", "--help"]);
  for (const word of ["--listen", "--master-key-file", "VAULTSYNC_VAULT_DATA", "Examples:"])
    expect(printed).toContain(word);
});

test("serves https with a certificate, uploads included", async () => {
  const ca = certificate("Test CA");
  const { cert, keyPem } = certificate("vault", { issuer: ca, hosts: ["127.0.0.1"] });
  await Promise.all([writeFile(path("cert.pem"), cert), writeFile(path("key.pem"), keyPem)]);
  const tls = ["--tls-cert-file", path("cert.pem"), "--tls-key-file", path("key.pem")];
  const server = await serve(["--dev", "--dev-users", "ann@example.com", ...tls]);
  expect(server.url).toMatch(/^https:/u);
  const agent = new Agent({ ca: ca.cert });
  const post = async (
    operation: string,
    headers: Record<string, string>,
    body: string | Buffer,
  ) => {
    const call = request(server.url + operation, { method: "POST", headers, agent }).end(body);
    const [response] = await once(call, "response");
    return text(response);
  };
  const json = { "content-type": "application/json" };
  const password = server.passwords.get("ann@example.com") ?? "";
  const credentials = {
    email: "ann@example.com",
    password,
    scope: scopeString(),
    expiration_hours: 1,
  };
  const authorization = JSON.parse(
    await post(operationPath.generate_access_token, json, JSON.stringify(credentials)),
  ).access_token;
  const content = "0123456789abcdef".repeat(50_000);
  const multipart = {
    "content-type": "multipart/form-data; boundary=b",
    authorization,
    email: "ann@example.com",
    countoffiles: "1",
  };
  await post(
    operationPath.protect_file,
    multipart,
    `--b\r\nContent-Disposition: form-data; filename="f"\r\n\r\n${content}\r\n--b--\r\n`,
  );
  const download = JSON.stringify({ email: "ann@example.com", filename: "f" });
  expect(await post(operationPath.download_file, { ...json, authorization }, download)).toBe(
    content,
  );
  agent.destroy();
}, 30_000);

test.skipIf(process.platform !== "linux")(
  "uploads and downloads of 64 MiB add less than 40 MiB to the memory of the server",
  async () => {
    const server = await serve(["--dev", "--dev-users", "ann@example.com"]);
    const password = server.passwords.get("ann@example.com") ?? "";
    const { access_token: token } = (await logIn(server.url, "ann@example.com", password)).json();
    const ann = new VaultClient(server.url, "ann@example.com", { token });
    await ann.upload([{ filename: "warm-up", bytes: randomBytes(1024) }]);
    const before = await server.peakMemory();
    const bytes = randomBytes(64 * 1024 * 1024);
    for (let round = 0; round < 2; round += 1) {
      expect((await ann.upload([{ filename: "big", bytes }])).status).toBe(200);
      const response = await ann.call("download_file", { filename: "big" });
      expect(response.bytes.equals(bytes)).toBe(true);
    }
    expect((await server.peakMemory()) - before).toBeLessThan(40 * 1024 * 1024);
  },
  60_000,
);
