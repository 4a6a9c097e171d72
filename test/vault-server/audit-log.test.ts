import { readFile } from "node:fs/promises";
import { beforeEach, describe, expect, test } from "vitest";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { Canaries } from "../lab/assertions/canary.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import {
  sessionOperationPath,
  operationPath,
  type Operation,
} from "../../src/protocol/operation-paths.ts";
import { operations } from "../../src/protocol/operations.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";

const directory = new TestDirectory();
let file: string;
beforeEach(() => {
  file = directory.join("audit.jsonl");
});

const start = (options: Partial<VaultServerOptions> = {}): Promise<TestVault> =>
  TestVault.start({ auditLog: { file }, ...options });

const entries = (): ReturnType<typeof auditEntries> => auditEntries(file);

/** Returns the lines of a completed request, by its id. */
async function leftBy(response: { readonly headers: { readonly [name: string]: unknown } }) {
  const id = response.headers["x-request-id"];
  return (await entries()).filter(({ request }) => request === id);
}

const ann = "ann@example.com";
const bob = "bob@example.com";

interface Case {
  readonly body?: object;
  readonly before?: (caller: VaultClient, other: VaultClient) => Promise<unknown>;
  readonly about?: object;
  readonly result?: object;
}

const own = { key_version: 1, owner: ann };
const protectIt = (caller: VaultClient) =>
  caller.call("protect", { key_name: "a", key_value: "x" });
const shareIt = async (caller: VaultClient): Promise<void> => {
  await protectIt(caller);
  await caller.call("share", { key_name: "a", usr_id_from: ann, usr_id_to: bob, permission: "RW" });
};
const teamIt = (caller: VaultClient) =>
  caller.call("team_create", { group_id: "t", members: [bob] });
const uploadIt = (caller: VaultClient) =>
  caller.upload([{ filename: "f", bytes: Buffer.from("x") }]);
const named = { key_name: "a" };
const given = (body: object): Case => ({ body, about: body });

/** Each operation that one body calls, with what its lines must say. */
const cases: Record<
  Exclude<
    Operation,
    | "generate_access_token"
    | "exchange_identity_token"
    | "refresh_token"
    | "token_revoke"
    | "protect_file"
    | "trash_restore"
    | "trash_delete"
  >,
  Case
> = {
  protect: {
    body: { key_name: "a", key_value: "x", description: "hidden" },
    about: named,
    result: own,
  },
  list_no_dup: {},
  expose: { ...given(named), before: protectIt, result: own },
  version_list: { ...given(named), before: protectIt },
  consumer_list: { ...given(named), before: protectIt },
  version_expose: { ...given({ ...named, key_version: 1 }), before: protectIt, result: own },
  version_delete: {
    ...given({ ...named, key_version: 1 }),
    before: async (caller) => {
      await protectIt(caller);
      await protectIt(caller);
    },
  },
  update_key_metadata: {
    body: { ...named, key_version: 1, metadata: { description: "hidden" } },
    about: { ...named, key_version: 1 },
    before: protectIt,
    result: own,
  },
  rename: {
    ...given({ ...named, new_name: "b" }),
    before: protectIt,
    result: own,
  },
  delete: { ...given({ key_name: ["a"] }), before: protectIt },
  share: {
    ...given({ key_name: ["a"], usr_id_from: ann, usr_id_to: [bob], permission: "R" }),
    before: protectIt,
  },
  unshare: { ...given({ key_name: "a", usr_id_to: bob }), before: shareIt },
  share_list: { ...given(named), before: shareIt },
  delete_shared_key_link: {
    ...given(named),
    before: async (_caller, other) => {
      await other.call("protect", { key_name: "a", key_value: "x" });
      await other.call("share", {
        key_name: "a",
        usr_id_from: bob,
        usr_id_to: ann,
        permission: "R",
      });
    },
  },
  expose_link: { ...given({ ...named, owner: ann }), before: shareIt, result: own },
  protect_link: {
    body: { ...named, key_value: "y", without_list: 1 },
    about: named,
    before: shareIt,
    result: { key_version: 2, owner: ann },
  },
  version_list_for_link: { ...given(named), before: shareIt },
  version_expose_link: { ...given({ ...named, key_version: 1 }), before: shareIt, result: own },
  token_list: {},
  block_sender: given({ usr_id_from: bob }),
  unblock_sender: given({ usr_id_from: [bob] }),
  blocked_senders: {},
  team_create: given({ group_id: "t", members: [bob] }),
  team_add_members: { ...given({ group_id: "t", members: ["cy@example.com"] }), before: teamIt },
  team_remove_members: { ...given({ group_id: "t", members: bob }), before: teamIt },
  team_leave: {
    ...given({ group_id: "t" }),
    before: (_caller, other) => other.call("team_create", { group_id: "t", members: [ann] }),
  },
  team_list: {},
  team_delete: { ...given({ group_id: "t" }), before: teamIt },
  list_file: {},
  download_file: { ...given({ filename: "f", version: 1 }), before: uploadIt },
  delete_file: { ...given({ filename: "f" }), before: uploadIt },
  delete_all_files: { before: uploadIt },
  trash_list: {},
  trash_empty: {},
};

describe("operations are logged with their subject, their user and their outcome", () => {
  test.each(Object.keys(cases) as (keyof typeof cases)[])("%s", async (operation) => {
    const { body = {}, before, about = {}, result } = cases[operation];
    await using vault = await start();
    const caller = await vault.client(ann);
    await before?.(caller, await vault.client(bob));
    const response = await caller.call(operation, body);
    expect(response.status).toBe(200);
    const common = { operation, client: "127.0.0.1", who: ann };
    const begin = { ...common, phase: "begin", about };
    const end = { ...common, phase: "end", status: 200, error: null, ...(result && { result }) };
    const left = await leftBy(response);
    expect(left).toMatchObject(
      operations[operation].audit.intent === "never" ? [{ ...end, about }] : [begin, end],
    );
    // The second line does not repeat the first one.
    expect(left.slice(1).map(({ about: repeated }) => repeated)).toEqual(
      left.slice(1).map(() => undefined),
    );
    expect(left.map(({ claimed }) => claimed)).toEqual(left.map(() => undefined));

    const refused = await caller.call(operation, body, { authorization: "unknown" });
    const withoutLists = Object.fromEntries(
      Object.entries(about).filter(([, value]) => !Array.isArray(value)),
    );
    expect(await leftBy(refused)).toMatchObject([
      {
        operation,
        phase: "end",
        who: null,
        claimed: ann,
        about: withoutLists,
        status: 401,
        error: "invalid_token",
      },
    ]);
    const pretended = await caller.call(operation, { ...body, email: "Eve@example.com" });
    expect(await leftBy(pretended)).toMatchObject([
      {
        operation,
        phase: "end",
        who: ann,
        claimed: "Eve@example.com",
        status: 403,
        error: "email_mismatch",
      },
    ]);
  });

  test("protect_link with the list in its response logs the version", async () => {
    await using vault = await start();
    const caller = await vault.client(ann);
    await shareIt(caller);
    const response = await caller.call("protect_link", { ...named, key_value: "y" });
    expect((await leftBy(response)).at(-1)).toMatchObject({
      phase: "end",
      result: { key_version: 2, owner: ann },
    });
  });

  test("generate_access_token and refresh_token", async () => {
    await using vault = await start();
    const response = await vault.logIn("Ann@example.com", {
      password: vault.passwords.get(ann) ?? "",
    });
    const about = { scope: scopeString(), expiration_hours: 1 };
    expect(await leftBy(response)).toMatchObject([
      { phase: "begin", who: ann, about },
      { operation: "generate_access_token", phase: "end", who: ann, status: 200 },
    ]);
    for (const email of [ann, "nobody@example.com"]) {
      const failed = await vault.logIn(email, { password: "wrong" });
      expect(await leftBy(failed)).toMatchObject([
        { phase: "end", who: null, claimed: email, status: 401, error: "invalid_credentials" },
      ]);
    }
    const pair = response.json();
    const refresh = await vault.post(operationPath.refresh_token, {
      refresh_token: pair.refresh_token,
      used_access_token: pair.access_token,
    });
    expect(await leftBy(refresh)).toMatchObject([
      { phase: "begin", who: ann },
      { phase: "end", who: ann, status: 200 },
    ]);
  });

  test("protect_file logs the names before the effect and the versions with the response", async () => {
    await using vault = await start();
    const caller = await vault.client(ann);
    const files = ["f", "g"].map((filename) => ({ filename, bytes: Buffer.from("x") }));
    await caller.upload(files.slice(0, 1));
    const common = { operation: "protect_file", who: ann };
    expect(await leftBy(await caller.upload(files))).toMatchObject([
      { ...common, phase: "begin", about: { filename: ["f", "g"] } },
      { ...common, phase: "end", status: 200, result: { versions: [2, 1] } },
    ]);
    expect(await leftBy(await caller.upload(files, { authorization: "unknown" }))).toMatchObject([
      { phase: "end", who: null, claimed: ann, status: 401 },
    ]);
    expect(await leftBy(await caller.upload(files, { countoffiles: "3" }))).toMatchObject([
      { phase: "end", who: ann, status: 400, error: "invalid_request" },
    ]);
  });

  test.each(Object.keys(sessionOperationPath) as (keyof typeof sessionOperationPath)[])(
    "%s",
    async (operation) => {
      await using vault = await start();
      const response = await vault.post(sessionOperationPath[operation], {
        email: ann,
        password: "wrong password",
        token: "unknown",
      });
      const left = await leftBy(response);
      expect(left.at(-1)).toMatchObject({
        operation,
        phase: "end",
        who: null,
        status: response.status,
        error: response.code() ?? null,
      });
      const hasIntent = response.status === 200 && operation === "app_request_password";
      expect(left.map(({ phase }) => phase)).toEqual(hasIntent ? ["begin", "end"] : ["end"]);
    },
  );
});

test("requests rejected unread are logged; requests that are no operation are not", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  const url = vault.url + operationPath.protect;
  const refusals = await Promise.all([
    sendRequest(url, { headers: { "content-type": "text/plain" }, body: "x" }),
    sendRequest(url, { headers: { "content-type": "application/json" }, body: "{" }),
    sendRequest(url, {
      headers: { "content-type": "application/json" },
      body: `"${"x".repeat(3_000_000)}"`,
    }),
    caller.call("protect", { key_name: 3, key_value: "x" }),
  ]);
  for (const response of refusals) {
    expect(await leftBy(response)).toMatchObject([
      { operation: "protect", phase: "end", status: response.status, error: response.code() },
    ]);
  }
  expect(refusals.map(({ status }) => status)).toEqual([415, 400, 401, 400]);
  const before = (await entries()).length;
  for (const path of [
    "/healthz",
    "/readyz",
    "/metrics",
    "/v1/unknown",
    "/",
    operationPath.protect,
  ]) {
    await sendRequest(vault.url + path, { method: "GET" });
  }
  expect(await entries()).toHaveLength(before);
});

test("an unchanged list and a cached file are logged as reads", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  await uploadIt(caller);
  for (const [operation, body] of [
    ["list_no_dup", {}],
    ["download_file", { filename: "f" }],
  ] as const) {
    const { etag } = (await caller.call(operation, body)).headers;
    const response = await caller.call(operation, body, { "if-none-match": etag });
    expect(await leftBy(response)).toMatchObject([{ operation, who: ann, status: 304 }]);
  }
});

test("the log contains no value, file, metadata, password or token in any encoding", async () => {
  const canaries = new Canaries();
  await using vault = await start();
  const caller = await vault.client(ann);
  const secret = canaries.text("value");
  const metadata = { description: canaries.text("metadata"), note: canaries.text("note") };
  await caller.call("protect", { key_name: "a", key_value: secret, metadata });
  await caller.call("protect", {
    key_name: "",
    key_value: canaries.text("refused value"),
    description: canaries.text("refused"),
  });
  await caller.call("protect", { key_name: { nested: canaries.text("nested") }, key_value: "x" });
  await caller.call("expose", { key_name: "a" });
  await caller.call("list_no_dup");
  await caller.upload([{ filename: "f", bytes: canaries.bytes("file", 1000) }]);
  await caller.call("download_file", { filename: "f" });
  await caller.call("list_no_dup", {}, { authorization: canaries.text("unknown token") });
  await vault.logIn(ann, { password: canaries.text("wrong password") });
  await vault.post(operationPath.refresh_token, {
    refresh_token: canaries.text("refresh"),
    used_access_token: canaries.text("used"),
  });
  const cookie = `vaultsync_session=${canaries.text("session")}`;
  await vault.post(
    sessionOperationPath.app_log_in,
    { email: ann, password: canaries.text("app password") },
    { cookie },
  );
  await vault.post(sessionOperationPath.app_set_password, {
    token: canaries.text("proof"),
    password: canaries.text("new password"),
  });
  await vault.post(
    sessionOperationPath.app_api_token,
    { password: canaries.text("asked again") },
    { cookie },
  );
  const text = await readFile(file, "utf8");
  expect(text.split("\n").length).toBeGreaterThan(15);
  expect(canaries.tracesIn({ text })).toEqual([]);
  const known = [
    caller.token,
    vault.passwords.get(ann) ?? "",
    ...["base64", "hex"].map((as) => Buffer.from(secret).toString(as as "hex")),
  ];
  for (const word of known) expect(text).not.toContain(word);
});

test("names are bounded in length and number, and none forges a line", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  const many = await caller.call("delete", {
    key_name: Array.from({ length: 10_000 }, (_, n) => `name-${n}`),
  });
  const [begin] = await leftBy(many);
  expect(begin.about.key_name).toHaveLength(10);
  expect(begin.about.of).toEqual({ key_name: 10_000 });
  const long = await caller.call("expose", { key_name: "x".repeat(1_000_000) });
  expect((await leftBy(long))[0].about.key_name).toHaveLength(161);
  const wide = await caller.call("delete", {
    key_name: Array.from({ length: 200 }, () => "\u0001".repeat(300)),
  });
  expect(JSON.stringify(await leftBy(wide)).length).toBeLessThan(5_000);
  const count = (await entries()).length;
  const forged = `x"}\n{"seq":${count + 1},"who":"bob@example.com"}\n`;
  expect(await leftBy(await caller.call("expose", { key_name: forged }))).toMatchObject([
    { about: { key_name: forged } },
  ]);
  expect(await entries()).toHaveLength(count + 1);
});
