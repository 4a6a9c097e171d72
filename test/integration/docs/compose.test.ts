import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { lastStage } from "../../../scripts/image/archive.ts";
import { volumes } from "../../../scripts/image/volumes.ts";
import { packageVersion } from "../../../src/lib/package-version.ts";
import { vaultCommand } from "../../../src/vault/cli/vault.ts";
import { freePort } from "../../lab/control-plane/supervisor/free-port.ts";
import { VaultServerProcess } from "../../lab/real/processes/vault-server-process.ts";
import { VaultsyncProcess } from "../../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../../lab/test-directory.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const recipes = join(root, "deploy/self-hosting");
const directory = new TestDirectory();

const Compose = z.object({
  services: z.strictObject({
    vault: z.looseObject({
      environment: z.record(z.string(), z.string()),
      healthcheck: z.looseObject({ test: z.array(z.string()) }),
    }),
  }),
  secrets: z.object({ "master-key": z.object({ file: z.string() }) }),
  networks: z.object({
    default: z.object({
      ipam: z.object({ config: z.tuple([z.object({ gateway: z.string() })]) }),
    }),
  }),
});
const compose = Compose.parse(parse(await readFile(join(recipes, "compose.yaml"), "utf8")));
const { vault } = compose.services;
const { environment } = vault;
const image = lastStage(await readFile(join(root, "Dockerfile"), "utf8")).config;

/** Returns the command of Docker Compose, a plugin or a program; `undefined` without one. */
async function composeCommand(): Promise<{ program: string; args: readonly string[] } | undefined> {
  for (const [program, ...args] of [["docker", "compose"], ["docker-compose"]] as const) {
    const isInstalled = await run(program, [...args, "version"]).then(
      () => true,
      () => false,
    );
    if (isInstalled) return { program, args };
  }
  return undefined;
}

test("Docker Compose accepts the file", async () => {
  const command = await composeCommand();
  if (command === undefined) {
    process.stdout.write("NOT RUN: Docker Compose is not installed, and did not check the file.\n");
    return;
  }
  const args = [...command.args, "--file", join(recipes, "compose.yaml"), "config"];
  const checked = await run(command.program, args);
  expect(checked.stderr).toBe("");
  expect(parse(checked.stdout)).toMatchObject({ services: { vault: { read_only: true } } });
});

test("the container has no permissions, and writes to its volumes and /tmp only", () => {
  expect(vault).toMatchObject({
    image: `vaultsync:${packageVersion()}`,
    read_only: true,
    cap_drop: ["ALL"],
    security_opt: ["no-new-privileges:true"],
    tmpfs: ["/tmp"],
    secrets: ["master-key"],
    volumes: volumes.map((path) => `${path.slice(1)}:${path}`),
  });
  expect(environment).toMatchObject({
    VAULTSYNC_VAULT_DATA: "/data/vault.db",
    VAULTSYNC_VAULT_AUDIT_LOG: "/audit/audit.jsonl",
    VAULTSYNC_VAULT_MASTER_KEY_FILE: "/run/secrets/master-key",
  });
  expect(compose.secrets).toEqual({ "master-key": { file: "./keys/master.key" } });
  // The image's user owns the volumes.
  expect(vault).not.toHaveProperty("user");
  expect(vault).not.toHaveProperty("privileged");
  expect(image.User).toBe("65532:65532");
});

test("the container is reached through the proxies of this machine only", async () => {
  expect(vault).toMatchObject({ ports: ["127.0.0.1:8200:8200"] });
  expect(environment["VAULTSYNC_VAULT_LISTEN"]).toBe("0.0.0.0:8200");
  for (const name of ["nginx.conf", "Caddyfile"])
    expect(await readFile(join(recipes, name), "utf8")).toContain("127.0.0.1:8200");
  const [{ gateway }] = compose.networks.default.ipam.config;
  expect(environment["VAULTSYNC_VAULT_TRUST_PROXY"]).toBe(gateway);
});

test("each variable is of a flag of vault serve", () => {
  const serve = vaultCommand().commands.find((command) => command.name() === "serve");
  const variables = serve?.options.map(({ envVar }) => envVar);
  expect(Object.keys(environment).filter((name) => !variables?.includes(name))).toEqual([]);
  expect(environment["VAULTSYNC_VAULT_SIGN_UP"]).toBe("invited");
});

test("the server starts with these variables, and the health check notices when it has stopped", async () => {
  const key = directory.join("master.key");
  const generated = await VaultsyncProcess.run(["vault", "key", "generate", key]);
  expect(generated.code).toBe(0);
  const port = String(await freePort());
  const env = {
    ...environment,
    VAULTSYNC_VAULT_DATA: directory.join("vault.db"),
    VAULTSYNC_VAULT_AUDIT_LOG: directory.join("audit.jsonl"),
    VAULTSYNC_VAULT_MASTER_KEY_FILE: key,
    VAULTSYNC_VAULT_LISTEN: environment["VAULTSYNC_VAULT_LISTEN"]?.replace("8200", port),
  };
  const [form, node, ...args] = vault.healthcheck.test;
  expect([form, node]).toEqual(["CMD", image.Entrypoint?.[0]]);
  const check = (): Promise<unknown> =>
    run(
      process.execPath,
      args.map((text) => text.replace("8200", port)),
    );
  await using server = await VaultServerProcess.start([], { env });
  await check();
  await server.stop("SIGTERM");
  await expect(check()).rejects.toThrow("Command failed");
});
