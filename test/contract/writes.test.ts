import { expect, test } from "vitest";
import { CONSUMER } from "../lab/vault/secret-record.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import type { EntryWrite } from "../../src/operator/vault-client/connection.ts";
import { failureOf } from "../lab/assertions/failure-of.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import {
  observeConnection,
  passwordSource,
  referencesTo,
  untilHealthy,
} from "../lab/vault/vault-connection.ts";

const operator = "operator@example.com";
const { signal } = new AbortController();

const secret = (
  name: string,
  value: string,
  more: Partial<EntryWrite & { kind: "secret" }> = {},
): EntryWrite => ({
  kind: "secret",
  name,
  guard: undefined,
  value: new Redacted(value),
  owner: undefined,
  received: false,
  shared: false,
  metadata: undefined,
  deleteMinutes: undefined,
  ...more,
});

async function start(limits?: object) {
  const vault = await TestVault.start({ emails: ["ann@example.com", operator], ...limits });
  const credentials = passwordSource(() => vault.passwords.get(operator) ?? "");
  const references = referencesTo(["db"], ["conf"]);
  const observed = await untilHealthy(
    observeConnection({ url: vault.url, email: operator, credentials, references }),
  );
  return {
    vault,
    ...observed,
    own: await vault.client(operator),
    ann: await vault.client("ann@example.com"),
  };
}

test("a secret is created with metadata and a removal time, and gets further versions", async () => {
  const { vault, connection, own } = await start();
  await using _vault = vault;
  const first = await connection.write(
    secret("db", "canary ü\0", {
      metadata: { environment_type: "prod", team: "shop" },
      deleteMinutes: 90,
    }),
    signal,
  );
  const [record] = (await own.call("list_no_dup")).json().secrets;
  expect(record).toMatchObject({
    key_version: 1,
    metadata: { environment_type: "prod", team: "shop" },
    delete_time: 90,
  });
  expect(first).toEqual({
    version: 1,
    createdAt: Date.parse(record.created_at),
    deleteAt: Date.parse(record.delete_at),
    withMetadata: true,
  });
  expect((await own.call("expose", { key_name: "db" })).json().key_value).toBe("canary ü\0");
  expect(await connection.write(secret("db", "next"), signal)).toMatchObject({
    version: 2,
    deleteAt: first.deleteAt,
  });
});

test("a secret whose share began or ended since the list gets its next version", async () => {
  const { vault, connection, requests, own, ann } = await start();
  await using _vault = vault;
  await connection.write(secret("db", "one"), signal);
  await own.call("share", {
    key_name: "db",
    permission: "R",
    usr_id_from: operator,
    usr_id_to: ann.email,
  });
  expect(await connection.write(secret("db", "two", { deleteMinutes: 5 }), signal)).toMatchObject({
    version: 2,
    withMetadata: false,
  });
  await own.call("unshare", { key_name: "db" });
  expect(await connection.write(secret("db", "three", { shared: true }), signal)).toMatchObject({
    version: 3,
  });
  expect(requests.filter((request) => request.startsWith("protect"))).toEqual([
    "protect ok",
    "protect permanent",
    "protect_link ok",
    "protect_link permanent",
    "protect ok",
  ]);
});

test("a received secret is written with permission W, and never replaced by an own one", async () => {
  const { vault, connection, own, ann } = await start();
  await using _vault = vault;
  const received = { owner: ann.email, received: true, shared: true };
  const share = (permission: string) =>
    ann.call("share", { key_name: "db", permission, usr_id_from: ann.email, usr_id_to: operator });
  await ann.call("protect", { key_name: "db", key_value: "one" });
  await share("R");
  expect(await failureOf(connection.write(secret("db", "two", received), signal))).toMatchObject({
    code: "forbidden",
  });
  await share("RW");
  expect(await connection.write(secret("db", "two", received), signal)).toMatchObject({
    version: 2,
  });
  expect((await ann.call("expose_link", { key_name: "db" })).json().key_value).toBe("two");
  await ann.call("unshare", { key_name: "db" });
  expect(await failureOf(connection.write(secret("db", "three", received), signal))).toMatchObject({
    code: "secret_not_found",
  });
  expect((await own.call("list_no_dup")).json().secrets).toEqual([]);
});

test.each(["conf", 'qu"ote\\%22.txt', "naïve 😀.bin", "it's (1)*.txt"])(
  "the file %j is stored byte for byte",
  async (name) => {
    const { vault, connection, own } = await start();
    await using _vault = vault;
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
    const write = { kind: "file", name, bytes: new Redacted(bytes), guard: undefined } as const;
    // A backslash separates paths, so it cannot be part of a filename.
    const stored = name.slice(name.lastIndexOf("\\") + 1);
    expect(await connection.write(write, signal)).toMatchObject({
      version: 1,
      withMetadata: false,
    });
    expect(await connection.write(write, signal)).toMatchObject({ version: 2 });
    const downloaded = await own.call("download_file", { filename: stored });
    expect(downloaded.bytes.equals(bytes)).toBe(true);
  },
);

test("the latest version is read without a list, also if a share began since", async () => {
  const { vault, connection, own, ann } = await start();
  await using _vault = vault;
  const address = {
    kind: "secret",
    name: "db",
    owner: undefined,
    received: false,
    shared: false,
    consumer: CONSUMER,
  } as const;
  const file = { ...address, kind: "file", name: "conf" } as const;
  expect(await connection.latest(address, signal)).toBeUndefined();
  expect(await connection.latest(file, signal)).toBeUndefined();
  await own.call("protect", { key_name: "db", key_value: "one" });
  await own.call("protect", { key_name: "db", key_value: "two" });
  await own.upload([{ filename: "conf", bytes: Buffer.from([0, 255]) }]);
  const texts = async (...addresses: (typeof address | typeof file)[]) =>
    Promise.all(
      addresses.map(async (each) => {
        const latest = await connection.latest(each, signal);
        return [Buffer.from(latest?.bytes.reveal() ?? []).toString("hex"), latest?.version];
      }),
    );
  const hex = Buffer.from("two").toString("hex");
  expect(await texts(address, file)).toEqual([
    [hex, 2],
    ["00ff", 1],
  ]);
  await own.call("share", {
    key_name: "db",
    permission: "R",
    usr_id_from: operator,
    usr_id_to: ann.email,
  });
  expect(await texts(address)).toEqual([[hex, 2]]);
});

test("an entry is removed with all its versions", async () => {
  const { vault, connection, own } = await start();
  await using _vault = vault;
  await connection.write(secret("db", "one"), signal);
  await connection.write(
    { kind: "file", name: "conf", bytes: new Redacted(Buffer.from("x")), guard: undefined },
    signal,
  );
  await connection.remove("secret", "db", undefined, signal);
  await connection.remove("file", "conf", undefined, signal);
  expect((await own.call("list_no_dup")).json().secrets).toEqual([]);
  expect((await own.call("list_file")).json().files).toEqual([]);
  expect(await failureOf(connection.remove("secret", "db", undefined, signal))).toMatchObject({
    code: "secret_not_found",
  });
});

test("a value over the limit of the vault is too large", async () => {
  const { vault, connection } = await start();
  await using _vault = vault;
  const value = "x".repeat(1024 * 1024 + 1);
  expect(await failureOf(connection.write(secret("db", value), signal))).toMatchObject({
    kind: "permanent",
    code: "too_large",
  });
});
