import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { buildExecutable } from "../../../scripts/build-executable.ts";
import { packageVersion } from "../../../src/lib/package-version.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { cliLogin } from "../../lab/real/cli-login.ts";
import { vaultSecret } from "../../lab/real/resources.ts";
import { protectSecret } from "../../lab/vault/requests.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";

const CANARY = "canary-executable-71c4";

let directory: string;
let program: string;
let bytes: number;
let isStripped: boolean;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vaultsync-executable-test-"));
  program = join(directory, "vaultsync");
  ({ bytes, isStripped } = await buildExecutable(program));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs the executable where nothing of the repository and no other Node is. */
async function run(...args: readonly string[]) {
  const options = { cwd: directory, env: { HOME: directory, NODE_OPTIONS: "--no-such-option" } };
  const done = promisify(execFile)(program, args, options);
  return done.then(
    (output) => ({ code: 0, ...output }),
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
}

test("the executable needs no other file, and has fewer than 120 MB", async () => {
  expect(await run("--version")).toEqual({ code: 0, stdout: `${packageVersion()}\n`, stderr: "" });
  expect(bytes).toBeLessThan(isStripped ? 120e6 : 160e6);
});

test("the executable reads a cluster", async () => {
  const plane = await sharedControlPlane();
  await installCrds(plane);
  const namespace = await plane.createNamespace("executable");
  const place = ["--kubeconfig", plane.kubeconfigPath, "-n", namespace];
  expect(await run("status", ...place)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`VaultPush in namespace ${namespace}\n`),
  });
});

test("threads of the executable render a template and check a value", async () => {
  const user = "ops@example.com";
  await using vault = await TestVault.start({ emails: [user] });
  const client = await vault.client(user);
  await protectSecret(client, { key_name: "db", key_value: CANARY });
  await protectSecret(client, { key_name: "long", key_value: "x".repeat(100_000) });
  await using login = await cliLogin({
    url: vault.url,
    email: user,
    password: vault.passwords.get(user) ?? "",
  });
  const manifest = join(directory, "app.yaml");
  const target = { template: { data: { auth: "{{ vars.password | htpasswd: 'ann' }}" } } };
  const render = async (validate: object) => {
    const { spec, ...rest } = vaultSecret("app", { password: "db" });
    const long = { secretKey: "long", remoteRef: { key: "long" }, validate };
    await writeFile(
      manifest,
      stringify({ ...rest, spec: { ...spec, data: [...spec.data, long], target } }),
    );
    return run("render", "-f", manifest, "--account", login.account, "--json");
  };
  const rendered = await render({ pattern: "^x+$" });
  expect(rendered).toMatchObject({ code: 0, stderr: "" });
  expect(rendered.stdout).toMatch(/ann:\$2/u);
  expect(rendered.stdout).not.toContain(CANARY);
  const refused = await render({ pattern: "^y+$" });
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("pattern") });
});

test("the executable says that it has no vault server", async () => {
  for (const command of ["serve --dev", "user list --data vault.db"]) {
    expect(await run("vault", ...command.split(" "))).toMatchObject({
      code: 1,
      stderr:
        "vaultsync: this executable has no vault server and no command for its storage: use the image or the npm package\n",
    });
  }
});
