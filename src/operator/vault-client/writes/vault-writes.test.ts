import { CONSUMER } from "../../../../test/lab/vault/secret-record.ts";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import {
  ScriptedVault,
  errorResponse,
  json,
  raw,
  reset,
  silence,
  type Script,
} from "../../../../test/lab/vault/scripted-vault.ts";
import { Redacted } from "../../../lib/redacted.ts";
import type { EntryWrite, WriteGuard } from "../connection.ts";
import { mayHaveHappened } from "../vault-error.ts";

const { signal } = new AbortController();
const entry = (guard?: WriteGuard): EntryWrite => ({
  kind: "secret",
  name: "db",
  guard,
  value: new Redacted("canary-value"),
  owner: undefined,
  received: false,
  shared: false,
  metadata: undefined,
  deleteMinutes: undefined,
});

async function world(...scripts: Script[]) {
  const vault = (await ScriptedVault.start()).on("protect", ...scripts);
  return { vault, ...(await vault.connected()) };
}

test("a write by a process that does not lead is not sent", async () => {
  const { vault, connection } = await world(json({ key_version: 1 }));
  const closed = { mayWrite: () => false, writeTimeoutMs: () => 0 };
  const error = await failureOf(connection.write(entry(closed), signal));
  expect(error).toMatchObject({ kind: "transient", code: "not_leader" });
  expect(vault.count("protect")).toBe(0);
  expect(mayHaveHappened(error)).toBe(false);
});

test("a write ends at the time that the guard sets", async () => {
  const { connection, clock, vault } = await world(silence);
  const writing = failureOf(
    connection.write(entry({ mayWrite: () => true, writeTimeoutMs: () => 2_500 }), signal),
  );
  await expect.poll(() => vault.count("protect")).toBe(1);
  await clock.advance(2_500);
  expect(await writing).toMatchObject({ kind: "transient", code: "timeout" });
});

test.each<[string, Script, boolean]>([
  ["a reset", reset, true],
  ["a server error", errorResponse(500, "internal"), true],
  ["a response without a version", json({ secret: {} }), true],
  ["an exceeded quota", errorResponse(403, "quota_exceeded"), false],
  ["too large a value", errorResponse(413, "too_large"), false],
  ["throttling", errorResponse(429, "rate_limited"), false],
  ["a value outside the scope", errorResponse(403, "out_of_scope"), false],
])(
  "%s is sent once, and its error shows whether it may have happened",
  async (_, script, mayHave) => {
    const { connection, vault } = await world(script);
    const error = await failureOf(connection.write(entry(), signal));
    expect(mayHaveHappened(error)).toBe(mayHave);
    expect(vault.count("protect")).toBe(1);
    expect(String(error)).not.toContain("canary");
  },
);

const file = {
  kind: "file",
  name: "conf",
  owner: undefined,
  received: false,
  shared: false,
  consumer: CONSUMER,
} as const;
const digest = createHash("sha256").update("bytes").digest("hex");

test.each<[string, Script, object]>([
  [
    "the page of a proxy",
    raw("<html>", 200, { "content-type": "text/html" }),
    { field: "content-type" },
  ],
  ["an empty response", raw("", 200), { field: "content-type" }],
  [
    "bytes with another digest",
    raw("byte", 200, { "x-file-version": "2", etag: `"${digest}"` }),
    { code: "digest_mismatch" },
  ],
])("%s is not taken for the latest version of a file", async (_, script, error) => {
  const vault = (await ScriptedVault.start()).on("download_file", script);
  const { connection } = await vault.connected();
  expect(await failureOf(connection.latest(file, signal))).toMatchObject(error);
});

test("the bytes of a file count without a version and a digest", async () => {
  const vault = (await ScriptedVault.start()).on(
    "download_file",
    raw("bytes", 200, { "content-type": "application/octet-stream" }),
  );
  const { connection } = await vault.connected();
  const latest = await connection.latest(file, signal);
  expect(Buffer.from(latest?.bytes.reveal() ?? []).toString()).toBe("bytes");
  expect(latest?.version).toBeUndefined();
});

test("a rejected token is replaced and the write sent again, because the vault stored nothing", async () => {
  const { connection, vault, clock } = await world(
    errorResponse(401, "invalid_token"),
    json({ secret: { key_version: 7 } }),
  );
  await clock.advance(60_000);
  expect(await connection.write(entry(), signal)).toMatchObject({ version: 7 });
  expect(vault.count("protect")).toBe(2);
});

test.each<[string, Script]>([
  ["a login page", raw("<html>Please log in</html>")],
  ["an empty object", json({})],
])("%s instead of the response does not count as a deletion", async (_, script) => {
  const vault = (await ScriptedVault.start()).on("delete", script, json({ deleted: ["db"] }));
  const { connection } = await vault.connected();
  const remove = (): Promise<void> => connection.remove("secret", "db", undefined, signal);
  expect(await failureOf(remove())).toMatchObject({ kind: "unexpected-response" });
  await expect(remove()).resolves.toBeUndefined();
});
