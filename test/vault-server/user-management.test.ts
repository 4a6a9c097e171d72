import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient, VaultResponse } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const directory = new TestDirectory();

let data: VaultData;
let vault: TestVault;
let [ann, bob]: VaultClient[] = [];
let auditLog: string;
beforeEach(async () => {
  data = await createVaultData();
  auditLog = directory.join("audit.jsonl");
  vault = await TestVault.start({
    data: data.location,
    masterKey,
    auditLog: { file: auditLog },
    mail: { directory: directory.join("mail") },
    signUp: { mode: "open" },
  });
  [ann, bob] = [await vault.client(ANN), await vault.client(BOB)];
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const masterKey = generateMasterKey();
const user = (...args: string[]) =>
  runInProcess(["vault", "user", ...args], {
    VAULTSYNC_VAULT_DATA: data.location,
    VAULTSYNC_VAULT_MASTER_KEY: Buffer.from(masterKey.reveal()).toString("base64"),
  });
const request = (email: string) => vault.post(sessionOperationPath.app_request_password, { email });
const setPassword = (token: string) =>
  vault.post(sessionOperationPath.app_set_password, { token, password: "another-long-password" });
const omitted = () =>
  vault.metric('vaultsync_vault_emails_total{kind="confirmation",outcome="omitted"}');

/** Returns the lines that commands left in the audit log. */
async function adminLines(): Promise<unknown[]> {
  const lines = (await readFile(auditLog, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines
    .filter(({ event }) => event === "admin")
    .map(({ action, user: email }) => [action, email]);
}

const sortedAdminLines = async () => (await adminLines()).map(String).toSorted();

async function count(table: string): Promise<number> {
  const [row] = await data.select(`SELECT count(*) AS rows FROM ${table}`);
  return Number(row?.["rows"]);
}

/** Gives Ann a secret shared with Bob, a team with Bob, a file, and a secret of Bob's. */
async function fill(): Promise<void> {
  await ann!.call("protect", {
    key_name: "anns",
    key_value: "v",
    metadata: { note: "canary-77ab" },
  });
  await ann!.call("team_create", { group_id: "anns-team", members: [BOB] });
  await ann!.call("share", { key_name: "anns", permission: "R", usr_id_from: ANN, usr_id_to: BOB });
  await ann!.call("share", {
    key_name: "anns",
    permission: "R",
    usr_id_from: ANN,
    group_id_to: "anns-team",
  });
  await ann!.upload([{ filename: "f", bytes: Buffer.alloc(300_000, "f") }]);
  await bob!.call("protect", { key_name: "bobs", key_value: "v" });
  await bob!.call("share", {
    key_name: "bobs",
    permission: "RW",
    usr_id_from: BOB,
    usr_id_to: ANN,
  });
}

async function namesOf(caller: VaultClient): Promise<string[]> {
  return (await caller.call("list_no_dup"))
    .json()
    .secrets.map(({ key_name: name }: { key_name: string }) => name);
}

test("a disabled user is rejected everywhere like an unknown one, and keeps everything for later", async () => {
  await fill();
  await request(ANN);
  const { token } = await mailTo(vault.mailDirectory, ANN);
  const session = await WebSession.logIn(vault, ANN);
  expect(await user("disable", "Ann@example.com", "--yes")).toMatchObject({
    code: 0,
    stderr: "disabled ann@example.com\n",
  });
  expect((await user("list")).stdout).toBe(`${ANN}\tdisabled\n${BOB}\n`);
  expect((await ann!.call("list_no_dup")).outcome()).toBe("401 invalid_token");
  expect(await session.isLive()).toBe(false);
  const [rejected, unknown] = [
    await vault.logIn(ANN),
    await vault.logIn("nobody@example.com", { password: "x" }),
  ];
  expect(rejected.outcome()).toBe("401 invalid_credentials");
  expect(rejected.bytes).toEqual(unknown.bytes);
  expect((await setPassword(token)).outcome()).toBe("401 invalid_confirmation");
  expect(await namesOf(bob!)).toEqual(["anns", "bobs"]);

  expect(await user("enable", ANN)).toMatchObject({ code: 0, stderr: "enabled ann@example.com\n" });
  expect((await user("list")).stdout).toBe(`${ANN}\n${BOB}\n`);
  expect((await ann!.call("list_no_dup")).outcome()).toBe("401 invalid_token");
  expect(await namesOf(await vault.client(ANN))).toEqual(["anns", "bobs"]);
});

test("a disabled user gets no email, and the response does not reveal it", async () => {
  await user("disable", BOB, "--yes");
  const responses = [await request(BOB), await request(ANN)];
  expect(responses.map(({ status, bytes }) => [status, bytes.toString()])).toEqual([
    [200, "{}"],
    [200, "{}"],
  ]);
  await expect.poll(omitted).toBe(1);
  await mailTo(vault.mailDirectory, ANN);
});

test("a deleted user leaves no row and no byte, and others lose what was shared with them", async () => {
  await fill();
  await request(ANN);
  const { token: former } = await mailTo(vault.mailDirectory, ANN);
  expect(await user("delete", ANN, "--yes")).toMatchObject({
    code: 0,
    stderr: "deleted ann@example.com\n",
  });
  expect(await namesOf(bob!)).toEqual(["bobs"]);
  expect((await bob!.call("team_list")).json()).toEqual({ teams: [] });
  expect((await bob!.call("expose", { key_name: "bobs" })).outcome()).toBe("200");
  expect((await ann!.call("list_no_dup")).outcome()).toBe("401 invalid_token");
  expect((await vault.logIn(ANN)).outcome()).toBe("401 invalid_credentials");
  const left = [
    "users",
    "secrets",
    "secret_versions",
    "person_grants",
    "teams",
    "team_members",
    "team_grants",
  ];
  expect(await Promise.all(left.map(count))).toEqual([1, 1, 1, 0, 0, 0, 0]);
  expect(
    await Promise.all(["files", "file_versions", "file_chunks", "staged_blobs"].map(count)),
  ).toEqual([0, 0, 0, 0]);
  // PostgreSQL overwrites removed rows later.
  expect(data.overwrites && (await data.written()).includes("canary-77ab")).toBe(false);

  expect((await setPassword(former)).outcome()).toBe("401 invalid_confirmation");

  // A later account of the same address starts with nothing.
  await request(ANN);
  const token = async () => (await mailTo(vault.mailDirectory, ANN)).token;
  await expect.poll(token).not.toBe(former);
  const signedUp = await setPassword(await token());
  expect(await namesOf(new WebSession(vault.url, signedUp))).toEqual([]);
});

test("a deletion that fails removes nothing", async () => {
  await fill();
  await data.change("CREATE TABLE keepers (email text REFERENCES users (email))");
  await data.change("INSERT INTO keepers VALUES ($1)", ANN);
  const tables = [
    "users",
    "secrets",
    "secret_versions",
    "person_grants",
    "teams",
    "team_members",
    "file_chunks",
  ];
  const before = await Promise.all(tables.map(count));
  expect((await user("delete", ANN, "--yes")).code).toBe(1);
  expect(await Promise.all(tables.map(count))).toEqual(before);
  expect(await namesOf(ann!)).toEqual(["anns", "bobs"]);
  expect(await namesOf(bob!)).toEqual(["anns", "bobs"]);
});

test.each(["disable", "delete"])(
  "%s asks for confirmation, which needs a terminal or --yes",
  async (command) => {
    const rejected = await user(command, ANN);
    expect(rejected).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("confirm with --yes"),
    });
    expect((await ann!.call("list_no_dup")).outcome()).toBe("200");
    expect((await user(command, "nobody@example.com", "--yes")).stderr).toContain(
      "no user has this email",
    );
  },
);

/**
 * Sends a list that waits longer than a test may take, and resolves when the server lets it wait.
 */
async function wait(caller: VaultClient): Promise<{ readonly response: Promise<VaultResponse> }> {
  const { etag } = (await caller.call("list_no_dup")).headers;
  const response = caller.call("list_no_dup", {}, { "if-none-match": etag, prefer: "wait=50" });
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
  return { response };
}

test("a list that waits ends when a command disables its user", async () => {
  const { response } = await wait(ann!);
  await user("disable", ANN, "--yes");
  expect((await response).outcome()).toBe("401 invalid_token");
});

test("lists that wait change when a command deletes their user or the sender of a share", async () => {
  await fill();
  const { response } = await wait(bob!);
  const deleted = ann!.call(
    "list_no_dup",
    {},
    { "if-none-match": (await ann!.call("list_no_dup")).headers.etag, prefer: "wait=50" },
  );
  await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(2);
  await user("delete", ANN, "--yes");
  expect((await deleted).outcome()).toBe("401 invalid_token");
  expect((await response).bytes.toString()).not.toContain("anns");
});

test("teams of a user who leaves are handed over with their members and shares", async () => {
  await fill();
  await bob!.call("share", {
    key_name: "bobs",
    permission: "R",
    usr_id_from: BOB,
    group_id_to: "anns-team",
  });
  const etag = (await ann!.call("list_no_dup")).headers["etag"];
  expect((await user("hand-over", ANN, "BOB@example.com")).stderr).toBe(
    "handed over 1 team to BOB@example.com\n",
  );
  expect((await bob!.call("team_list")).json().teams).toEqual([
    { group_id: "anns-team", creator: BOB, members: [ANN, BOB] },
  ]);
  expect((await ann!.call("list_no_dup", {}, { "if-none-match": String(etag) })).outcome()).toBe(
    "200",
  );
  expect(
    (
      await ann!.call("team_add_members", { group_id: "anns-team", members: "x@example.com" })
    ).outcome(),
  ).toBe("403 forbidden");
  expect(
    (
      await bob!.call("team_add_members", { group_id: "anns-team", members: "x@example.com" })
    ).outcome(),
  ).toBe("200");
  expect((await ann!.call("team_leave", { group_id: "anns-team" })).outcome()).toBe("200");
  await user("delete", ANN, "--yes");
  expect((await bob!.call("team_list")).json().teams).toHaveLength(1);
  expect((await user("hand-over", BOB, "nobody@example.com")).stderr).toContain(
    "no user has this email",
  );
  expect((await user("hand-over", BOB, BOB)).stderr).toContain("expected two different users");
  await expect
    .poll(sortedAdminLines, { timeout: 25_000 })
    .toEqual([`delete,${ANN}`, `hand-over-teams,${ANN}`, `receive-teams,${BOB}`]);
}, 60_000);

test("teams are not handed over to a disabled user, who could not change them", async () => {
  await fill();
  const teams = (await ann!.call("team_list")).json();
  await user("disable", BOB, "--yes");
  expect(await user("hand-over", ANN, BOB)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${BOB} is disabled: choose another user`),
  });
  expect((await ann!.call("team_list")).json()).toEqual(teams);
  expect(teams.teams).toMatchObject([{ creator: ANN }]);
});

test("commands leave one line each in the audit log, and a new password sends an email", async () => {
  const password = directory.join("password");
  await writeFile(directory.join("password"), "another-long-password\n");
  await user("add", "Cid@example.com", "--password-file", password);
  await user("set-password", BOB, "--password-file", password);
  const mail = await mailTo(vault.mailDirectory, BOB, "Your password was changed");
  expect(mail.link).toEqual(`${vault.url}/#/forgot-password`);
  expect(mail.token).toBe("");
  expect((await vault.logIn(BOB, { password: "another-long-password" })).outcome()).toBe("200");
  await user("revoke-tokens", BOB);
  await user("disable", BOB, "--yes");
  await user("enable", BOB);
  await user("delete", BOB, "--yes");
  const expected = ["set-password", "revoke-tokens", "disable", "enable", "delete"].map(
    (action) => [action, BOB],
  );
  await expect
    .poll(adminLines, { timeout: 25_000 })
    .toEqual([["add", "cid@example.com"], ...expected]);
  await expect.poll(() => count("admin_actions")).toBe(0);
}, 60_000);

test.each([
  ["short-one", "12 to 1024 characters"],
  ["password1234", "most common passwords"],
  ["abcabcabcabcabc", "must not repeat"],
])("the password %s is rejected by add and set-password", async (password, reason) => {
  const file = directory.join("password");
  await writeFile(directory.join("password"), `${password}\n`);
  for (const [command, email] of [
    ["add", "cid@example.com"],
    ["set-password", ANN],
  ] as const) {
    const result = await user(command, email, "--password-file", file);
    expect(result.code).toBe(1);
    expect(result.stderr).toEqual(expect.stringContaining(reason));
  }
  expect((await ann!.call("list_no_dup")).outcome()).toBe("200");
});
