import { writeFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import type { ProcessResult } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const { vault, ann, bob, cid } = await useVault();
const directory = new TestDirectory();

/** Runs a command as Ann. */
const run = (...args: string[]): Promise<ProcessResult> =>
  runInProcess(args, { VAULTSYNC_ACCOUNT: directory.join("account.json") });

/** Stores a value of Ann. */
async function set(...args: string[]): Promise<ProcessResult> {
  await writeFile(directory.join("value"), "value of ann");
  return run("secret", "set", "db", "--value-file", directory.join("value"), ...args);
}

/** The value of Bob's secret of the name. */
const valueOfBob = async (): Promise<unknown> =>
  (await bob.call("expose_link", { key_name: "db", owner: bob.email })).json().key_value;

beforeEach(async () => {
  const password = directory.join("password");
  await writeFile(password, `${vault.passwords.get(ann.email)}\n`);
  await run("login", "--url", vault.url, "--email", ann.email, "--password-file", password);
  await bob.call("protect", { key_name: "db", key_value: "value of bob" });
  const share = { permission: "RW", usr_id_from: bob.email, usr_id_to: ann.email };
  await bob.call("share", { key_name: "db", ...share });
});

test("secret get prints no value of another user's secret unless its owner is named", async () => {
  expect(await run("secret", "get", "db")).toEqual({
    code: 1,
    stdout: "",
    stderr:
      "vaultsync: db is a secret of bob@example.com: add --owner bob@example.com to read it\n",
  });
  expect(await run("secret", "get", "db", "--owner", "Bob@example.com")).toEqual({
    code: 0,
    stdout: "value of bob",
    stderr: "",
  });
});

test("secret set stores nothing in another user's secret unless its owner is named", async () => {
  expect(await set()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/is a secret of bob@example\.com: .*--owner bob@.*--owner ann@/u),
  });
  expect(await valueOfBob()).toBe("value of bob");
  expect(await set("--owner", ann.email)).toMatchObject({ code: 0 });
  expect((await ann.call("expose", { key_name: "db" })).json().key_value).toBe("value of ann");
  expect(await valueOfBob()).toBe("value of bob");
  expect(await set("--owner", bob.email)).toMatchObject({ code: 0 });
  expect(await valueOfBob()).toBe("value of ann");
});

test("storing a value under a name that several users share says how to store an own one", async () => {
  for (const sender of [bob, cid]) {
    await sender.call("protect", { key_name: "both", key_value: "theirs" });
    const share = { key_name: "both", usr_id_from: sender.email, usr_id_to: ann.email };
    await sender.call("share", { ...share, permission: "RW" });
  }
  const file = directory.join("value");
  await writeFile(file, "value of ann");
  const store = (...more: string[]): Promise<ProcessResult> =>
    run("secret", "set", "both", "--value-file", file, ...more);
  expect(await store()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/--owner \(bob@.*, cid@.*\).*, or --owner ann@example\.com /u),
  });
  expect(await store("--owner", ann.email)).toMatchObject({ code: 0 });
});
