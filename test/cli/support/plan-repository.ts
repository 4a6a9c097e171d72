import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { beforeEach } from "vitest";
import { runInProcess } from "../../lab/real/processes/run-in-process.ts";
import type { ProcessResult } from "../../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../../lab/test-directory.ts";
import { useVault } from "../../lab/vault/use-vault.ts";

export const ann = "ann@example.com";
export const bob = "bob@example.com";
export const { vault } = await useVault({});
export const directory = new TestDirectory();
export const VALUE = "canary-plan-value";

const client = await vault.client(ann);
for (const key_value of [VALUE, `${VALUE}-2`])
  await client.call("protect", { key_name: "shop/db", key_value });
const other = await vault.client(bob);
await other.call("protect", { key_name: "received", key_value: VALUE });
await other.call("share", {
  key_name: "received",
  usr_id_from: bob,
  usr_id_to: ann,
  permission: "R",
});
await client.upload([{ filename: "nginx.conf", bytes: Buffer.from(VALUE) }]);

beforeEach(() => logIn(ann, directory.join("account.json")));

/** Stores a login in a file. */
export async function logIn(email: string, file: string): Promise<void> {
  const password = directory.join("password");
  await writeFile(password, vault.passwords.get(email) ?? "");
  const account = ["--url", vault.url, "--email", email, "--password-file", password];
  await run("login", ...account, "--account", file);
}

export const run = (...args: string[]): Promise<ProcessResult> =>
  runInProcess(args, { VAULTSYNC_ACCOUNT: directory.join("account.json") });

/** Writes a file of the repository. */
export async function write(name: string, ...lines: string[]): Promise<void> {
  const path = directory.join("repository", name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${lines.join("\n")}\n`);
}

export async function plan(...args: string[]): Promise<ProcessResult> {
  const result = await run("plan", "-f", directory.join("repository"), ...args);
  const relative = (text: string): string =>
    text.replaceAll(`${directory.join("repository")}/`, "");
  return { ...result, stdout: relative(result.stdout), stderr: relative(result.stderr) };
}

export const header = (kind: string, name: string): string[] => [
  "apiVersion: vaultsync.dev/v1alpha1",
  `kind: ${kind}`,
  `metadata: { name: ${name}, namespace: shop }`,
  "spec:",
];

export const connection = (url = vault.url): string[] => [
  ...header("VaultConnection", "vault"),
  `  url: ${url}`,
  `  email: ${ann}`,
  "  auth: { passwordSecretRef: { name: login } }",
];

export const secret = (name: string, ...references: string[]): string[] => [
  ...header("VaultSecret", name),
  "  connectionRef: { name: vault }",
  "  data:",
  ...references.map(
    (reference, index) => `    - { secretKey: key-${index}, remoteRef: { ${reference} } }`,
  ),
];
