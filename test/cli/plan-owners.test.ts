import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
const { vault } = await useVault({});
const directory = new TestDirectory();
const other = await vault.client(bob);
await vault.client(ann);
await other.call("protect", { key_name: "received", key_value: "value" });
await other.call("share", {
  key_name: "received",
  usr_id_from: bob,
  usr_id_to: ann,
  permission: "R",
});

const run = (...args: string[]) =>
  runInProcess(args, { VAULTSYNC_ACCOUNT: directory.join("account.json") });

const object = (kind: string, spec: object): object => {
  return {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind,
    metadata: { name: "vault", namespace: "shop" },
    spec,
  };
};

/**
 * Returns the exit code and the problems of a VaultSecret with these sources, through a connection
 * with these settings.
 */
async function plan(settings: object, sources: object): Promise<unknown> {
  const auth = { passwordSecretRef: { name: "login" } };
  const connection = object("VaultConnection", { url: vault.url, email: ann, auth, ...settings });
  const secret = object("VaultSecret", { connectionRef: { name: "vault" }, ...sources });
  await writeFile(
    directory.join("all.yaml"),
    `${JSON.stringify(connection)}\n---\n${JSON.stringify(secret)}\n`,
  );
  const { code, stderr } = await run("plan", "-f", directory.join("all.yaml"));
  return [code, stderr.trim().replace(/^.*all\.yaml:\d+: /u, "")];
}

const reference = (more: object = {}) => ({
  data: [{ secretKey: "key", remoteRef: { key: "received", ...more } }],
});
const find = { dataFrom: [{ find: { name: { regexp: "^receiv" } } }] };

test("plan reports shared secrets whose owner is not named", async () => {
  await writeFile(directory.join("password"), vault.passwords.get(ann) ?? "");
  await run(
    "login",
    "--url",
    vault.url,
    "--email",
    ann,
    "--password-file",
    directory.join("password"),
  );
  const uncreated = "the Secret vault is not created without it";
  const trust = "spec.trustedOwners of the connection";
  const named = `received is shared by ${bob}, whom neither remoteRef.owner nor ${trust} names: to use it, set one of them; ${uncreated}`;
  expect(await plan({}, reference())).toEqual([3, named]);
  const found = `dataFrom[0] finds no entry in the vault's list: what ${bob} shares needs ${trust}; ${uncreated}`;
  expect(await plan({}, find)).toEqual([3, found]);
  expect(await plan({ receive: "Anyone" }, find)).toEqual([3, found]);
  const trusting = { trustedOwners: [bob] };
  expect(await plan(trusting, reference())).toEqual([0, ""]);
  expect(await plan(trusting, find)).toEqual([0, ""]);
  expect(await plan({}, reference({ owner: bob }))).toEqual([0, ""]);
  expect(await plan({ receive: "Anyone" }, reference())).toEqual([0, ""]);
});
