import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { ACCOUNT, World } from "../lab/real/world.ts";
import { bytesOf, condition, vaultSecret } from "../lab/real/resources.ts";
import { cliLogin } from "../lab/real/cli-login.ts";

/** `vaultsync rollback`, `resume` and `approve`, with an operator and a vault. */
let world: World;
beforeAll(async () => {
  world = await World.create();
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

test("a bad value is taken back in one command, held, and followed again", async () => {
  const [good, bad, fixed] = ["good", "bad", "fixed"].map((name) => world.canaries.text(name));
  await world.protect("password", good!);
  await world.protect("user", world.canaries.text("user"));
  await world.apply(vaultSecret("shop", { password: "password", user: "user" }));
  await world.ready("VaultSecret", "shop");
  await world.protect("password", bad!);
  await world.has("shop", "password", bad!);

  expect(await world.run("rollback", "shop")).toMatchObject({
    stderr: expect.stringContaining("name the key to roll back with --key"),
  });
  const shown = await world.run("rollback", "shop", "--key", "password", "--dry-run");
  expect(shown.stdout).toMatch(/password +password +2 +1/u);
  const done = await world.run("rollback", "shop", "--key", "password", "--reason", "wrong host");
  expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining("vaultsync resume") });
  await world.has("shop", "password", good!);

  await world.protect("password", fixed!);
  const held = await world.until(
    "VaultSecret",
    "shop",
    (one) => condition(one, "UpdateAvailable")?.message.includes("password 1 → 3") === true,
  );
  expect(condition(held, "UpdateAvailable")?.reason).toBe("Held");
  expect(condition(held, "Held")?.message).toContain("wrong host");
  await world.has("shop", "password", good!);

  expect(await world.run("resume", "vaultsecret/shop")).toMatchObject({ code: 0 });
  await world.has("shop", "password", fixed!);
});

test("a value that does not fit its rules is not stored with --for, and prints nothing of itself", async () => {
  await using login = await cliLogin({
    url: world.vault.url,
    email: ACCOUNT,
    password: world.vault.passwords.get(ACCOUNT) ?? "",
  });
  await world.protect("ruled", world.canaries.text("long enough"));
  const validate = { minLength: 10 };
  const data = [{ secretKey: "password", remoteRef: { key: "ruled" }, validate }];
  const shop = vaultSecret("ruled", {});
  await world.apply({ ...shop, spec: { ...shop.spec, data } });
  await world.ready("VaultSecret", "ruled");
  const file = join(dirname(login.account), "value");
  const set = async (value: string) => {
    await writeFile(file, value);
    const cluster = ["--kubeconfig", world.plane.kubeconfigPath, "-n", world.namespace];
    const args = ["--account", login.account, "--value-file", file, "--for", "vaultsecret/ruled"];
    return runInProcess(["secret", "set", "ruled", ...args, ...cluster]);
  };
  const short = world.canaries.text("x").slice(0, 9);
  const refused = await set(short);
  expect(refused).toMatchObject({
    code: 1,
    stderr:
      "vaultsync: vaultsecret/ruled: version 2 of ruled does not fit the rule minLength of the key password: expected at least 10 characters\nnothing is stored\n",
  });
  expect(await set(world.canaries.text("also long enough"))).toMatchObject({
    code: 0,
    stderr: "stored version 2 of ruled\n",
  });
});

test("the history of a resource names the versions, and a time takes the target back", async () => {
  await using login = await cliLogin({
    url: world.vault.url,
    email: ACCOUNT,
    password: world.vault.passwords.get(ACCOUNT) ?? "",
  });
  const [first, second] = ["first", "second"].map((name) => world.canaries.text(name));
  await world.protect("dated", first!);
  const time = new Date().toISOString();
  await world.protect("dated", second!);
  await world.apply(vaultSecret("shop-3", { password: "dated" }));
  await world.has("shop-3", "password", second!);

  const shown = await world.run("history", "shop-3", "--account", login.account);
  expect(shown).toMatchObject({ code: 0, stderr: "" });
  expect(shown.stdout).toMatch(/^ENTRY +VERSION +CREATED +BY +STATE$/mu);
  expect(shown.stdout).toMatch(/^dated +2 +\S+Z +ops@example\.com +in the target: password$/mu);
  expect(shown.stdout).toMatch(/^dated +1 +\S+Z +ops@example\.com +-$/mu);
  const without = await world.run("history", "shop-3", "--account", "/nowhere", "-o", "json");
  expect(without.stderr).toContain("only the versions that the cluster shows: ");
  expect(JSON.parse(without.stdout)).toMatchObject({
    versions: [{ entry: "dated", version: 2, keys: ["password"] }],
  });

  const back = () => world.run("rollback", "shop-3", "--at", time, "--account", login.account);
  expect((await back()).code).toBe(0);
  await world.has("shop-3", "password", first!);
  expect((await back()).stderr).toContain(`has the versions of ${time} already`);
  const resumed = await world.run("resume", "shop-3", "-o", "json");
  expect(JSON.parse(resumed.stdout)).toMatchObject({ resource: { name: "shop-3", ready: "True" } });
  const dry = await world.run("rollback", "shop-3", "--dry-run", "-o", "json");
  expect(JSON.parse(dry.stdout)).toEqual({
    changes: [{ key: "password", source: "dated", from: 2, to: 1 }],
  });
});

test("a version that the vault does not have is not ready, and changes nothing", async () => {
  const value = world.canaries.text("only");
  await world.protect("single", value);
  await world.apply(vaultSecret("shop-2", { key: "single" }));
  await world.ready("VaultSecret", "shop-2");
  const done = await world.run("rollback", "shop-2", "--to", "7");
  expect(done).toMatchObject({ code: 3, stdout: expect.stringContaining("held in version 7") });
  const secret = await world.until("Secret", "shop-2", () => true);
  expect(bytesOf(secret, "key")?.toString()).toBe(value);
});

test("newer versions wait until a user approves exactly these", async () => {
  const run = (...args: string[]) => world.run("approve", ...args);
  const [first, second] = ["first", "second"].map((name) => world.canaries.text(name));
  await world.protect("approved-password", first!);
  const approved = vaultSecret("approved", { password: "approved-password" });
  await world.apply({ ...approved, spec: { ...approved.spec, updates: { approval: "Required" } } });
  await world.ready("VaultSecret", "approved");
  expect((await run("approved")).stderr).toContain("vaultsecret/approved waits for no approval");

  await world.protect("approved-password", second!);
  const waiting = await world.until(
    "VaultSecret",
    "approved",
    (one) => condition(one, "UpdateAvailable")?.reason === "AwaitingApproval",
  );
  expect(condition(waiting, "UpdateAvailable")?.message).toContain("password 1 → 2");
  await world.has("approved", "password", first!);
  expect(await run()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("name the resources to approve, or set --all"),
  });
  const shown = await run("--all", "--dry-run", "-o", "json");
  expect(JSON.parse(shown.stdout)).toMatchObject({
    approved: [
      { resource: "vaultsecret/approved", updates: [{ key: "password", from: 1, to: 2 }] },
    ],
  });
  const done = await run("approved");
  expect([done.code, done.stdout]).toEqual([
    0,
    expect.stringMatching(/password +approved-password +1 +2/u),
  ]);
  await world.has("approved", "password", second!);
});
