import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { Redacted } from "../../src/lib/redacted.ts";
import { VaultClient } from "../../src/protocol/client/vault-client.ts";
import { listNoDup } from "../../src/protocol/operations/secrets.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { IdentityVault, serviceAccount } from "../lab/vault/identity-vault.ts";
import { scopeString } from "../lab/vault/vault-client.ts";

const ann = "ann@example.com";
const SHOP = serviceAccount("shop", "shop");
const directory = new TestDirectory();
let world: IdentityVault;

beforeEach(async () => {
  world = await IdentityVault.start(directory);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const client = await world.vault.client(ann);
  await client.call("protect", { key_name: "shop/db", key_value: "canary-value" });
  await client.call("protect", { key_name: "other", key_value: "canary-other" });
});

const tokenFile = (): string => directory.join("token");

async function writeToken(): Promise<string> {
  const token = await world.issuer.token(SHOP, { now: Date.now() });
  await writeFile(tokenFile(), `${token}\n`);
  return token;
}

const manifests = (url = world.vault.url, source = "shop/db", scope = ""): string => `
apiVersion: vaultsync.dev/v1alpha1
kind: VaultConnection
metadata: { name: vault, namespace: shop }
spec:
  url: ${url}
  email: ${ann}
  auth: { serviceAccountRef: { name: shop } }${scope}
---
apiVersion: vaultsync.dev/v1alpha1
kind: VaultSecret
metadata: { name: db, namespace: shop }
spec:
  connectionRef: { name: vault }
  data: [{ secretKey: PASSWORD, remoteRef: { key: ${source} } }]
`;

async function args(text: string): Promise<string[]> {
  const file = directory.join("shop.yaml");
  await writeFile(file, text);
  return ["-f", file, "--identity-token-file", tokenFile()];
}

/** Returns why render refuses manifests. */
async function refusal(text: string): Promise<string> {
  const { code, stderr } = await runInProcess(["render", ...(await args(text)), "--json"]);
  expect(code).toBe(3);
  return stderr;
}

test("render logs in with the token of a workload, and stores neither token", async () => {
  await world.add(SHOP, ann);
  const token = await writeToken();
  const home = directory.join("home");
  const out = directory.join("out");
  const { code, stderr } = await VaultsyncProcess.run(
    ["render", ...(await args(manifests())), "--dir", out],
    { env: { HOME: home } },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(await readFile(`${out}/db/PASSWORD`, "utf8")).toBe("canary-value");
  await expect(stat(home)).rejects.toThrow("ENOENT");
  const names = await readdir(directory.path, { recursive: true, withFileTypes: true });
  const paths = names.filter((one) => one.isFile()).map((one) => `${one.parentPath}/${one.name}`);
  const texts = await Promise.all(paths.map((path) => readFile(path, "latin1")));
  expect(texts.filter((text) => text.includes(token.slice(-40)))).toHaveLength(1);
});

test("run gives a command the values of a workload, and not its token", async () => {
  await world.add(SHOP, ann);
  const token = await writeToken();
  const command = [process.execPath, "-p", "JSON.stringify(process.env)"];
  const result = await VaultsyncProcess.run([
    "run",
    ...(await args(manifests())),
    "--",
    ...command,
  ]);
  expect(result).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(result.stdout)).toMatchObject({ PASSWORD: "canary-value" });
  expect(result.stdout).not.toContain(token.slice(-40));
});

test("the scope of the connection limits the login", async () => {
  await world.add(SHOP, ann);
  await writeToken();
  const scope = "\n  scope: { secretName: [other] }";
  const refused = await runInProcess([
    "render",
    ...(await args(manifests(undefined, undefined, scope))),
    "--json",
  ]);
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining("shop/db is not in") });
});

test("a rejected, missing or malformed token ends render, and no message contains it", async () => {
  const token = await writeToken();
  const all = ["render", ...(await args(manifests())), "--json"];
  const rejected = await runInProcess(all);
  expect(rejected.code).toBe(1);
  expect(rejected.stderr).toContain(`the vault rejected the token for ${ann}`);
  expect(rejected.stderr).not.toContain(token.slice(-40));
  await writeFile(tokenFile(), `${token} ${token}`);
  const malformed = await runInProcess(all);
  expect(malformed).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("expected one token"),
  });
  expect(malformed.stderr).not.toContain(token.slice(-40));
  await writeFile(tokenFile(), "");
  expect((await runInProcess(all)).stderr).toContain("expected one token");
  const missing = [...all.slice(0, -2), "/absent", "--json"];
  expect((await runInProcess(missing)).stderr).toContain("/absent: cannot read the token (ENOENT)");
});

test("a token is sent only by https, and only to the one vault of the files", async () => {
  await writeToken();
  expect(await refusal(manifests("http://vault.example.com"))).toContain(
    "shop.yaml:6: http sends the token readable by others: use https",
  );
  const [connection = "", secret = ""] = manifests().split("---");
  expect(await refusal(secret)).toContain(
    "the VaultConnection vault is not in the files: with --identity-token-file it names the vault and the account",
  );
  const another = (manifests("https://other.example.com").split("---")[0] ?? "").replace(
    "name: vault,",
    "name: next,",
  );
  const second = secret.replace("name: vault }", "name: next }").replace("name: db,", "name: web,");
  expect(await refusal([connection, secret, another, second].join("---"))).toContain(
    "the VaultConnection next is of another account or vault than the VaultConnection vault: a workload logs in once",
  );
});

test("a client logs in again when its tokens have ended, once for all requests", async () => {
  await world.add(SHOP, ann);
  let reads = 0;
  const readToken = async (): Promise<Redacted<string>> => {
    reads += 1;
    return new Redacted(await world.issuer.token(SHOP, { now: Date.now() }));
  };
  const { url } = world.vault;
  const client = await VaultClient.withIdentity({ url }, { email: ann, readToken, hours: 1 });
  await client.call(listNoDup, {});
  expect(reads).toBe(1);
  // Adding the identity again ends its tokens.
  await world.add(SHOP, ann, scopeString({ secret_name: ["other"] }));
  const lists = await Promise.all([1, 2, 3].map(() => client.call(listNoDup, {})));
  expect(lists.map(({ secrets }) => secrets.map(({ key_name }) => key_name))).toEqual([
    ["other"],
    ["other"],
    ["other"],
  ]);
  expect(reads).toBe(2);
  await world.remove(SHOP);
  await expect(client.call(listNoDup, {})).rejects.toThrow("invalid_credentials");
});
