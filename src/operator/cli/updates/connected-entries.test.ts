import { expect, test } from "vitest";
import { clusterSecret, corporate, items } from "../../../../test/lab/kube/fanned-out-objects.ts";
import { ObjectServer } from "../../../../test/lab/kube/object-server.ts";
import { cliLogin } from "../../../../test/lab/real/cli-login.ts";
import { useVault } from "../../../../test/lab/vault/use-vault.ts";

/**
 * `vaultsync history`, `rollback --at` and `retire` of a user whose account has a secret of the same name as
 * the account of the connection.
 */

const { vault, ann, bob } = await useVault();
const protect = (user: typeof ann, key_value: string) =>
  user.call("protect", { key_name: "login", key_value });
// The own secret of the user had its second version first.
await protect(bob, "own-1");
await protect(bob, "own-2");
await protect(ann, "shared-1");
const { versions } = (await ann.call("version_list", { key_name: "login" })).json() as {
  versions: { created_at: string }[];
};
const at = new Date(versions[0]?.created_at ?? "").toISOString();
await protect(ann, "shared-2");
await ann.call("share", {
  key_name: "login",
  permission: "R",
  usr_id_from: ann.email,
  usr_id_to: bob.email,
});

/** Runs a command of bob on a ClusterVaultSecret whose connection reads an account. */
async function run(
  command: string,
  url: string,
  args: readonly string[] = [],
  { subject = "clustervaultsecret/registry", email = ann.email } = {},
) {
  const password = vault.passwords.get(bob.email) ?? "";
  await using login = await cliLogin({ url: vault.url, email: bob.email, password });
  const registry = clusterSecret("registry", { status: { items: items(2) } });
  const objects = [registry, corporate({ url, email })];
  await using cluster = await ObjectServer.start(objects);
  return await cluster.run(command, subject, ...args, "--account", login.account, "-o", "json");
}

test("rollback --at goes to a version of the entry that the connection reads", async () => {
  const { stdout, stderr } = await run("rollback", vault.url, ["--at", at, "--dry-run"]);
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({
    changes: [{ key: "password", source: "login", from: 2, to: 1 }],
  });
});

test("history shows the versions of the entry that the connection reads", async () => {
  const { stdout } = await run("history", vault.url);
  expect(JSON.parse(stdout)).toMatchObject({
    versions: [{ version: 2, createdBy: ann.email }, { version: 1 }],
  });
});

test("a login at another vault says nothing about the versions", async () => {
  const url = "https://vault.example.com";
  const why = `bob@example.com is logged in at ${vault.url}: log in to ${url}`;
  expect(await run("rollback", url, ["--at", at])).toMatchObject({
    code: 1,
    stderr: `vaultsync: ${why}\n`,
  });
  expect((await run("history", url)).stderr).toBe(
    `only the versions that the cluster shows: ${why}\n`,
  );
});

test("retire deletes no version of a secret that the proof is not about", async () => {
  const { code, stderr } = await run("retire", vault.url, ["--version", "1", "--yes"], {
    subject: "login",
  });
  expect([code, stderr]).toEqual([
    1,
    `vaultsync: no resource refers to login of bob@example.com at ${vault.url}: log in as the owner of the secret that they refer to; nothing was deleted\n`,
  ]);
  const listed = (await bob.call("version_list", { key_name: "login" })).json() as {
    versions: object[];
  };
  expect(listed.versions).toHaveLength(2);
});

test("a received secret does not stand in for one of the account that is gone", async () => {
  // Given a resource of a deleted secret of bob, and a secret of ann that bob has received.
  await bob.call("delete", { key_name: "login" });
  const own = { email: bob.email };
  // When bob asks for its versions.
  const rollback = await run("rollback", vault.url, ["--at", at, "--dry-run"], own);
  const history = await run("history", vault.url, [], own);
  // Then no version of ann's secret is shown.
  const why = /no secret "login" of bob@example\.com/u;
  expect(rollback).toMatchObject({ code: 1, stderr: expect.stringMatching(why) });
  expect(history.stderr).toMatch(why);
  expect(JSON.parse(history.stdout)).toMatchObject({ versions: [{ version: 2 }] });
  expect(history.stdout).not.toContain(ann.email);
});
