import { execFile } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { Agent, fetch } from "undici";
import { describe, expect, onTestFinished, test } from "vitest";
import { operationPath, sessionOperationPath } from "../../../src/protocol/operation-paths.ts";
import { certificate } from "../../lab/certificates.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { ShellProcess } from "../../lab/real/processes/shell-process.ts";
import { TestDirectory } from "../../lab/test-directory.ts";
import { debianProgram, installedProgram } from "../../lab/tools/debian-program.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { multipartBody } from "../../lab/vault/vault-client.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const recipes = join(root, "deploy/self-hosting");
const recipe = (name: string): Promise<string> => readFile(join(recipes, name), "utf8");
const directory = new TestDirectory();
const [nginx, caddy, analyze] = [
  await debianProgram("nginx"),
  await debianProgram("caddy"),
  await installedProgram("systemd-analyze"),
];

const HOST = "vault.example.com";
const ann = "ann@example.com";
const authority = certificate("authority");
const server = certificate("server", { issuer: authority, hosts: [HOST] });

/** Writes the certificate, and returns its path and the path of its key. */
async function writeCertificate(): Promise<{ pem: string; key: string }> {
  const [pem, key] = [directory.join("server.pem"), directory.join("server.key")];
  await writeFile(pem, server.cert);
  await writeFile(key, server.keyPem);
  return { pem, key };
}

/** Replaces texts of a recipe, each of which it must have. */
function adapted(text: string, changes: readonly (readonly [from: string, to: string])[]): string {
  let result = text;
  for (const [from, to] of changes) {
    expect(result).toContain(from);
    result = result.replaceAll(from, to);
  }
  return result;
}

interface Proxy {
  readonly name: string;
  readonly program: string | undefined;
  /** Returns the command of the proxy at a port of loopback, and its environment. */
  readonly command: (
    program: string,
    port: number,
    upstream: string,
  ) => Promise<{ line: string; env?: NodeJS.ProcessEnv }>;
}

const proxies: readonly Proxy[] = [
  {
    name: "nginx",
    program: nginx,
    async command(program, port, upstream) {
      const { pem, key } = await writeCertificate();
      const site = adapted(await recipe("nginx.conf"), [
        ["listen 80;", `listen 127.0.0.1:${await freePort()};`],
        ["listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`],
        ["/etc/ssl/vault.example.com.pem", pem],
        ["/etc/ssl/private/vault.example.com.key", key],
        ["127.0.0.1:8200", upstream],
      ]);
      const folder = directory.join("nginx");
      await mkdir(folder);
      const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join(" ");
      const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}
        http { access_log off; ${paths} ${site} }`;
      await writeFile(join(folder, "nginx.conf"), main);
      return { line: `${program} -p ${folder} -e stderr -c ${folder}/nginx.conf` };
    },
  },
  {
    name: "Caddy",
    program: caddy,
    async command(program, port, upstream) {
      const { pem, key } = await writeCertificate();
      const site = adapted(await recipe("Caddyfile"), [
        ["{$VAULT_HOST:vault.example.com} {", `https://${HOST}:${port} {\n\ttls ${pem} ${key}`],
      ]);
      const file = directory.join("Caddyfile");
      await writeFile(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`);
      const folder = directory.path;
      return {
        line: `${program} run --config ${file} --adapter caddyfile`,
        env: { VAULT_UPSTREAM: upstream, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      };
    },
  },
];

/** Starts a proxy, and returns a function that sends requests through it. */
async function started({ program = "", command }: Proxy, upstream: string) {
  const port = await freePort();
  const { line, env } = await command(program, port, upstream);
  const shell = new ShellProcess(`exec ${line}`, {
    cwd: directory.path,
    env: { ...process.env, ...env },
  });
  onTestFinished(() => shell[Symbol.asyncDispose]());
  const dispatcher = new Agent({
    connect: {
      ca: authority.cert,
      lookup: (_name, _options, found) => found(null, [{ address: "127.0.0.1", family: 4 }]),
    },
  });
  onTestFinished(() => dispatcher.close());
  const send = (path: string, init: Parameters<typeof fetch>[1] = {}) =>
    fetch(`https://${HOST}:${port}${path}`, { ...init, dispatcher });
  await shell.until(() =>
    send("/healthz").then(
      () => true,
      () => false,
    ),
  );
  return send;
}

describe.each(proxies)("the recipe of $name", (proxy) => {
  test.skipIf(proxy.program === undefined)(
    "replaces x-forwarded-for of the client, and keeps the host",
    async () => {
      const upstream = createServer((request, response) =>
        response.end(JSON.stringify(request.headers)),
      ).listen(0, "127.0.0.1");
      onTestFinished(() => void upstream.close());
      await once(upstream, "listening");
      const address = upstream.address();
      const port = typeof address === "object" ? address?.port : undefined;
      const send = await started(proxy, `127.0.0.1:${port}`);
      const response = await send("/", { headers: { "x-forwarded-for": "203.0.113.9" } });
      const headers: unknown = await response.json();
      expect(headers).toMatchObject({ "x-forwarded-for": "127.0.0.1" });
      expect(headers).toMatchObject({ host: expect.stringMatching(/^vault\.example\.com(:|$)/u) });
    },
  );

  test.skipIf(proxy.program === undefined)(
    "serves a login, a file of some megabytes, and a list that waits for a change",
    async () => {
      await using vault = await TestVault.start({
        emails: [ann],
        appUrl: `https://${HOST}`,
        trustedProxies: ["127.0.0.1"],
      });
      const send = await started(proxy, new URL(vault.url).host);
      const json = { "content-type": "application/json" };
      const body = JSON.stringify({ email: ann, password: vault.passwords.get(ann) });
      const origin = { origin: `https://${HOST}` };
      const login = { method: "POST", headers: { ...json, ...origin }, body };
      const session = await send(sessionOperationPath.app_log_in, login);
      expect(session.status).toBe(200);
      expect(session.headers.get("set-cookie")).toContain("__Host-");
      expect(session.headers.get("set-cookie")).toContain("Secure");

      const direct = await vault.client(ann);
      const authorization = String((await vault.logIn(ann)).json().access_token);
      const caller = { authorization, email: ann };
      const files = multipartBody([{ filename: "large", bytes: Buffer.alloc(5_000_000, "x") }]);
      const upload = await send(operationPath.protect_file, {
        method: "POST",
        headers: {
          ...caller,
          countoffiles: "1",
          "content-type": "multipart/form-data; boundary=test-boundary",
        },
        body: files,
      });
      expect(upload.status).toBe(200);

      const list = (headers: Record<string, string>) =>
        send(operationPath.list_no_dup, {
          method: "POST",
          headers: { ...json, authorization, ...headers },
          body: JSON.stringify({ email: ann }),
        });
      const etag = (await list({})).headers.get("etag") ?? "";
      const waiting = list({ "if-none-match": etag, prefer: "wait=50" });
      await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
      await direct.call("protect", { key_name: "db", key_value: "v" });
      expect(await (await waiting).json()).toMatchObject({ secrets: [{ key_name: "db" }] });
    },
  );
});

test.skipIf(analyze === undefined)("the units of systemd are valid", async () => {
  const units = (await readdir(recipes)).filter((name) => /\.(service|timer)$/u.test(name));
  expect(units).toHaveLength(3);
  for (const name of units) {
    // The programs are not installed here.
    const unit = (await recipe(name)).replaceAll(
      /\/usr\/local\/bin\/vaultsync[a-z-]*/gu,
      "/bin/true",
    );
    await writeFile(directory.join(name), unit);
  }
  const paths = units.map((name) => directory.join(name));
  const { stdout, stderr } = await run(analyze ?? "", ["verify", "--man=no", ...paths]);
  expect(stdout + stderr).toBe("");
});

/** Installs the scripts next to a program of this checkout, with a store of one account. */
async function installed() {
  const bin = directory.join("bin");
  const backups = directory.join("backups");
  const key = directory.join("master.key");
  await mkdir(bin);
  await mkdir(backups);
  for (const name of ["vaultsync-backup", "vaultsync-restore-drill"])
    await cp(join(recipes, name), join(bin, name));
  const program = `#!/bin/sh\nexec "${process.execPath}" "${root}/src/main.ts" "$@"\n`;
  await writeFile(join(bin, "vaultsync"), program, { mode: 0o755 });
  const env = {
    PATH: `${bin}:${process.env["PATH"]}`,
    VAULTSYNC_BACKUPS: backups,
    VAULTSYNC_VAULT_DATA: directory.join("vault.db"),
    VAULTSYNC_VAULT_MASTER_KEY_FILE: key,
  };
  const call = (name: string, ...args: string[]) => run(join(bin, name), args, { env });
  await call("vaultsync", "vault", "key", "generate", key);
  const password = directory.join("password");
  await writeFile(password, "correct-horse-battery-staple-7\n");
  await call("vaultsync", "vault", "user", "add", ann, "--password-file", password);
  return { backups, key, call };
}

describe("the backup", () => {
  test("is made, verified and restored by the drill; only old ones are removed after it", async () => {
    const { backups, key, call } = await installed();
    const old = join(backups, "vault-2020-01-01T000000Z.backup");
    await writeFile(old, "");
    await utimes(old, 0, 0);
    await call("vaultsync-backup");
    const [made = "", ...others] = await readdir(backups);
    expect(made).toMatch(/^vault-\d{4}-\d\d-\d\dT\d{6}Z\.backup$/u);
    expect(others).toEqual([]);
    const drill = await call("vaultsync-restore-drill", key);
    expect(drill.stdout).toContain(ann);
    expect(drill.stderr).toContain(`restored ${join(backups, made)}`);
  });

  test("that cannot be made fails and removes nothing, as does a drill with another key", async () => {
    const { backups, call } = await installed();
    await call("vaultsync-backup");
    const wrong = directory.join("wrong.key");
    await call("vaultsync", "vault", "key", "generate", wrong);
    await expect(call("vaultsync-restore-drill", wrong)).rejects.toThrow("Command failed");
    const old = join(backups, "vault-2020-01-01T000000Z.backup");
    await writeFile(old, "");
    await utimes(old, 0, 0);
    await writeFile(directory.join("vault.db"), "damaged");
    await expect(call("vaultsync-backup")).rejects.toThrow("Command failed");
    expect(await readdir(backups)).toContain("vault-2020-01-01T000000Z.backup");
  });
});
