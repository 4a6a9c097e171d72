import { DatabaseSync, StatementSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import {
  operationPath,
  type Operation,
  sessionOperationPath,
} from "../../src/protocol/operation-paths.ts";
import { SqliteStore } from "../../src/vault/server/store/sqlite/sqlite-store.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { receivedMail } from "../lab/mail/smtp-server.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { Party } from "../../src/vault/server/store/store.ts";
import { scopeString } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const limits = { requestsPerSecond: 10, requestBurst: 20 };
const recipients = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `user${index}@example.com`);

const recipientsIn = (domain: string): string[] =>
  recipients(200).map((email) => `${email}.${domain}`);

/** Counts the statements of all SQLite databases of this process until disposed. */
function countedStatements(): Disposable & {
  counts(): { readonly statements: number; readonly executed: number };
  /** Number of statements that begin like this. */
  of(start: string): number;
  /** Resolves after the sweep that a server starts with, and counts from then on. */
  swept(): Promise<void>;
} {
  const methods = (["get", "all", "run"] as const).map((name) =>
    vi.spyOn(StatementSync.prototype, name),
  );
  const exec = vi.spyOn(DatabaseSync.prototype, "exec");
  // The store looks for changes of other processes in real time, whatever the requests.
  const sent = (): string[] =>
    methods
      .flatMap(({ mock }) => mock.contexts)
      .flatMap((each) => (each instanceof StatementSync ? each.sourceSQL.trim() : []))
      .filter((sql) => sql !== "PRAGMA data_version");
  return {
    counts: () => ({ statements: sent().length, executed: exec.mock.calls.length }),
    of: (start) => sent().filter((sql) => sql.startsWith(start)).length,
    swept: async () => {
      await expect.poll(() => exec.mock.calls.flat().join()).toContain("wal_checkpoint");
      for (const method of [...methods, exec]) method.mockClear();
    },
    [Symbol.dispose]: () => {
      for (const method of [...methods, exec]) method.mockRestore();
    },
  };
}

/** Runs the work of each write twice, as a store does after a conflict, until disposed. */
function repeatedWrites(): Disposable {
  // oxlint-disable-next-line typescript/unbound-method -- called with its store, by `call`
  const { write } = SqliteStore.prototype;
  const conflict = new Error("conflict");
  const spy = vi.spyOn(SqliteStore.prototype, "write").mockImplementation(async function (
    this: SqliteStore,
    work,
    writer,
  ) {
    const conflicting = write.call(
      this,
      async (transaction) => {
        await work(transaction);
        throw conflict;
      },
      writer,
    );
    await expect(conflicting).rejects.toBe(conflict);
    return write.call(this, work, writer);
  });
  return { [Symbol.dispose]: () => spy.mockRestore() };
}

test("a request counts as one for every 20 changes and may exceed the rate once", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, limits });
  const ann = await vault.client("ann@example.com");
  for (const key_name of ["a", "b"])
    expect((await ann.call("protect", { key_name, key_value: "v" })).status).toBe(200);
  const share = (names: string[], count: number) =>
    ann.call("share", {
      key_name: names,
      usr_id_from: ann.email,
      usr_id_to: recipients(count),
      permission: "R",
    });
  expect((await share(["a", "b"], 100)).status).toBe(200);
  // 18 were left: these 200 shares took ten, and a further one took one.
  for (let left = 7; left >= 0; left -= 1) expect((await share(["a"], 20)).status).toBe(200);
  expect((await share(["a"], 1)).outcome()).toBe("429 rate_limited");
  await clock.advance(100);
  expect((await share(["a"], 200)).status).toBe(200);
  await clock.advance(900);
  const refused = await share(["a"], 1);
  expect([refused.outcome(), refused.headers["retry-after"]]).toEqual(["429 rate_limited", "1"]);
  await clock.advance(100);
  expect((await share(["a"], 1)).status).toBe(200);
});

test.each<[Operation, object]>([
  ["share", { key_name: "a", permission: "R", usr_id_from: "ann@example.com", group_id_to: "t" }],
  ["update_key_metadata", { key_name: "a", key_version: 2, metadata: { note: "long" } }],
  ["version_delete", { key_name: "a", key_version: 2 }],
  ["rename", { key_name: "a", new_name: "b" }],
  ["trash_restore", { id: [] }],
])("%s counts its changes once when its transaction runs again", async (operation, body) => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ data: ":memory:", clock, limits, trashDays: 1 });
  const ann = await vault.client("ann@example.com");
  const change = async (changing: Operation, more: object) => {
    const response = await ann.call(changing, more);
    expect([changing, response.outcome()]).toEqual([changing, "200"]);
    return response.json();
  };
  for (const key_value of ["v", "w"]) await change("protect", { key_name: "a", key_value });
  const grant = { key_name: "a", permission: "R", usr_id_from: ann.email };
  await change("share", { ...grant, usr_id_to: recipients(100) });
  await change("team_create", { group_id: "t", members: recipients(100) });
  const restores = operation === "trash_restore";
  const { trash = [] } = restores ? await change("delete", { key_name: "a" }) : {};
  const ids = trash.map(({ id }: { id: string }) => id);
  await clock.advance(60_000);
  using _repeated = repeatedWrites();
  await change(operation, { ...body, ...(restores && { id: ids }) });
  let left = 0;
  while ((await ann.call("list_file")).status === 200) left += 1;
  expect(left).toBe(15);
});

test("a large body counts by its size, also when it is rejected", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, limits });
  const { token } = await vault.client("ann@example.com");
  const send = (bytes: number) =>
    vault.post(operationPath.protect, { text: "x".repeat(bytes) }, { authorization: token });
  expect((await send(2_000_000)).outcome()).toBe("400 invalid_request");
  expect((await send(200_000)).outcome()).toBe("400 invalid_request");
  expect((await send(20_000)).outcome()).toBe("429 rate_limited");
  expect((await send(100)).outcome()).toBe("429 rate_limited");
  await clock.advance(200);
  expect((await send(20_000)).outcome()).toBe("400 invalid_request");
});

test("a long list counts by its length, and the next request waits for it", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, limits });
  const ann = await vault.client("ann@example.com");
  const metadata = { large: "x".repeat(60_000) };
  for (let version = 0; version < 10; version += 1) {
    expect((await ann.call("protect", { key_name: "a", key_value: "v", metadata })).status).toBe(
      200,
    );
  }
  await clock.advance(60_000);
  const list = () => ann.call("version_list", { key_name: "a" });
  // 600 KB are read twice: for the entity tag and for the response. That is three requests each
  // time.
  for (let left = 20; left > 0; left -= 5) expect((await list()).status).toBe(200);
  expect((await list()).outcome()).toBe("429 rate_limited");
  expect((await list()).headers["retry-after"]).toBe("1");
});

test("reading a value takes two statements: for the token, and for the secret with its value", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  for (const key_value of ["v", "w"])
    expect((await ann.call("protect", { key_name: "a", key_value })).status).toBe(200);
  await statements.swept();
  const exposed = await ann.call("expose", { key_name: "a" });
  expect([exposed.status, exposed.json().key_value]).toEqual([200, "w"]);
  // None begins or ends a transaction.
  expect(statements.counts()).toEqual({ statements: 2, executed: 0 });
});

test("a download reads each part with one statement without a transaction", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  const bytes = Buffer.alloc(1024 * 1024, "x");
  await ann.upload([{ filename: "a", bytes }]);
  await statements.swept();
  const downloaded = await ann.call("download_file", { filename: "a" });
  expect(downloaded.bytes.equals(bytes)).toBe(true);
  // One transaction finds the file.
  expect(statements.counts().executed).toBe(2);
});

test("a share with 200 recipients reads with few statements what they have received", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  expect((await ann.call("protect", { key_name: "a", key_value: "v" })).status).toBe(200);
  const usr_id_to = recipientsIn("a");
  const body = { key_name: "a", usr_id_from: ann.email, usr_id_to, permission: "R" };
  expect((await ann.call("share", body)).status).toBe(200);
  // 16 recipients each, before and after the share.
  expect(statements.of("WITH received")).toBeLessThan(30);
});

test("a share with a team reads the size of a secret once for many members, not for each", async () => {
  const data = directory.join("vault.db");
  await using vault = await TestVault.start({ data, clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  const names = ["a", "b", "c"];
  for (const key_name of names) await ann.call("protect", { key_name, key_value: "v" });
  await ann.call("team_create", { group_id: "t", members: recipients(16) });
  using read = vi.spyOn(StatementSync.prototype, "all");
  const grant = { key_name: names, usr_id_from: ann.email, group_id_to: "t", permission: "R" };
  expect((await ann.call("share", grant)).status).toBe(200);
  const ran = read.mock.contexts.findLastIndex(
    (each) => each instanceof StatementSync && each.sourceSQL.trim().startsWith("WITH received"),
  );
  const [statement, values] = [read.mock.contexts[ran], read.mock.calls[ran]];
  if (!(statement instanceof StatementSync) || values === undefined)
    throw new Error("no statement");
  // The same statement, on a connection that counts how often it asks for a size.
  using database = new DatabaseSync(data);
  let sizes = 0;
  database.function("octet_length", (text) => {
    sizes += 1;
    return Buffer.byteLength(String(text));
  });
  expect(database.prepare(statement.sourceSQL).all(...values)).toHaveLength(16);
  expect(sizes).toBe(names.length);
});

test("a share beyond the quota of a secret ends before the work for each recipient", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  expect((await ann.call("protect", { key_name: "a", key_value: "v" })).status).toBe(200);
  const share = (usr_id_to: string[]) =>
    ann.call("share", { key_name: "a", usr_id_from: ann.email, usr_id_to, permission: "R" });
  for (const domain of ["a", "b", "c", "d", "e"])
    expect((await share(recipientsIn(domain))).status).toBe(200);
  // As many invitations as an account sends in a day: their emails take statements too.
  await expect.poll(() => receivedMail(vault.mailDirectory)).toHaveLength(50);
  await statements.swept();
  expect((await share(recipientsIn("f"))).outcome()).toBe("403 quota_exceeded");
  expect(statements.counts().statements).toBeLessThan(50);
});

test("members beyond the quota of a team end the request before the work for each of them", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const ann = await vault.client("ann@example.com");
  const create = (members: string[]) => ann.call("team_create", { group_id: "t", members });
  const add = (members: string[], more: object = {}) =>
    ann.call("team_add_members", { group_id: "t", members, ...more });
  await statements.swept();
  expect((await create(recipients(1_000))).outcome()).toBe("403 quota_exceeded");
  expect((await create(recipients(999))).outcome()).toBe("200");
  const before = statements.counts().statements;
  for (const more of [{}, { invite: false }])
    expect((await add(recipientsIn("a"), more)).outcome()).toBe("403 quota_exceeded");
  expect(statements.counts().statements - before).toBeLessThan(30);
  // Members that the team has count no more, and an address counts once.
  expect((await add([...recipients(999), ...recipients(999)])).outcome()).toBe("200");
});

test("reading a received value takes three statements: for the token, the share and the value", async () => {
  using statements = countedStatements();
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  const [ann, bob] = [await vault.client("ann@example.com"), await vault.client("bob@example.com")];
  expect((await ann.call("protect", { key_name: "a", key_value: "v" })).status).toBe(200);
  await ann.call("team_create", { group_id: "t", members: [bob.email] });
  for (const to of [{ usr_id_to: bob.email }, { group_id_to: "t" }]) {
    const shared = await ann.call("share", {
      key_name: "a",
      permission: "R",
      usr_id_from: ann.email,
      invite: false,
      ...to,
    });
    expect(shared.status).toBe(200);
  }
  await statements.swept();
  const exposed = await bob.call("expose_link", { key_name: "a", owner: ann.email });
  expect([exposed.status, exposed.json().key_value]).toEqual([200, "v"]);
  expect(statements.counts()).toEqual({ statements: 3, executed: 2 });
});

/** Records who reads and writes in the stores of this process, until disposed. */
function recordParties(): Disposable & { readonly all: () => (Party | undefined)[] } {
  const spies = (["read", "readOne", "write"] as const).map((name) =>
    vi.spyOn(SqliteStore.prototype, name),
  );
  return {
    all: () => spies.flatMap(({ mock }) => mock.calls.map(([, party]) => party)),
    [Symbol.dispose]: () => {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

const email = "ann@example.com";
const login = { email, password: "wrong", scope: scopeString(), expiration_hours: 1 };

test.each([
  ["a wrong password", operationPath.generate_access_token, login, 4],
  ["a request for a password", sessionOperationPath.app_request_password, { email }, 2],
])("the database work of %s is charged to the client's network", async (_, path, body, count) => {
  await using vault = await TestVault.start({ data: ":memory:", clock: new VirtualClock() });
  using parties = recordParties();
  await vault.post(path, body, { origin: vault.url });
  const charged = parties.all().filter((party) => party?.account === "network:127.0.0.1");
  expect(charged).toHaveLength(count);
  expect(charged.map((party) => party?.login)).not.toContain(undefined);
});
