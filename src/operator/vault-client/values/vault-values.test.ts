import { expect, test } from "vitest";
import { CONSUMER } from "../../../../test/lab/vault/secret-record.ts";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import {
  listedSecret,
  listResponse,
  listSoon,
  nextList,
  recordOf,
  ScriptedVault,
  textOf,
  valueResponse,
  errorResponse,
  json,
  raw,
  silence,
  type Script,
} from "../../../../test/lab/vault/scripted-vault.ts";
import {
  referencesTo,
  type ObservedConnection,
} from "../../../../test/lab/vault/vault-connection.ts";
import { Redacted } from "../../../lib/redacted.ts";

const { signal } = new AbortController();

test("concurrent callers of one version share one request, later ones the cache", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a", 2)))
    .on("version_expose", valueResponse("canary-value", { key_version: 2 }));
  const observed = await vault.connected();
  const results = await Promise.all(Array.from({ length: 50 }, () => textOf(observed, "a")));
  expect(new Set(results.map(String))).toEqual(new Set(["canary-value,2"]));
  expect(await textOf(observed, "a")).toEqual(["canary-value", 2]);
  expect(vault.bodies("version_expose")).toEqual([
    { email: "ann@example.com", key_name: "a", key_version: 2 },
  ]);
});

test.each([
  ["", 0],
  [" \n\t", 3],
  ["a\0b", 3],
  ["😀", 4],
  ["\uFEFFbom", 6],
  ["x".repeat(100_000), 100_000],
])("value %# is returned byte for byte", async (text, length) => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("version_expose", valueResponse(text));
  const observed = await vault.connected();
  const { bytes } = await observed.connection.reader(recordOf(observed, "a"), CONSUMER)(1, signal);
  expect(bytes.reveal()).toHaveLength(length);
  expect(Buffer.from(bytes.reveal()).equals(Buffer.from(text))).toBe(true);
});

test("bytes of another version than requested have the version of the response", async () => {
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a", 6)))
    .on("version_expose", valueResponse("v5", { key_version: "5" }));
  const observed = await vault.connected();
  expect(await textOf(observed, "a")).toEqual(["v5", 5]);
  // The cache contains version 5, not 6.
  expect(await textOf(observed, "a", 5)).toEqual(["v5", 5]);
  expect(vault.count("version_expose")).toBe(1);
});

test("a recreated name of the same version is fetched again", async () => {
  const vault = (await ScriptedVault.start())
    .on(
      "list_no_dup",
      listResponse(listedSecret("a", 1, { created_at: "2026-01-01T00:00:00Z" })),
      listResponse(listedSecret("a", 1, { created_at: "2026-02-02T00:00:00Z" })),
    )
    .on("version_expose", valueResponse("old"), valueResponse("new"));
  const observed = await vault.connected();
  expect(await textOf(observed, "a")).toEqual(["old", 1]);
  await nextList(observed, 60_000);
  expect(observed.changes).toHaveLength(2);
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
});

test("bytes fetched while their name was recreated are not cached", async () => {
  let finish: (() => void) | undefined;
  const vault = (await ScriptedVault.start())
    .on(
      "list_no_dup",
      listResponse(listedSecret("a", 1, { created_at: 1e12 })),
      listResponse(listedSecret("a", 1, { created_at: 2e12 })),
    )
    .on(
      "version_expose",
      (response, request) => (finish = () => valueResponse("old")(response, request)),
      valueResponse("new"),
    );
  const observed = await vault.connected();
  const old = textOf(observed, "a");
  await expect.poll(() => finish).toBeDefined();
  await listSoon(observed);
  await expect.poll(() => observed.changes).toHaveLength(2);
  // Later callers do not join the request for the old bytes.
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
  finish?.();
  expect(await old).toEqual(["old", 1]);
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
});

async function withFile(
  more: object,
  ...scripts: Script[]
): Promise<[ScriptedVault, ObservedConnection, () => Promise<unknown>]> {
  const vault = await ScriptedVault.start();
  vault
    .on("list_file", json({ files: [{ filename: "f", version: 2, size: 4, ...more }] }))
    .on("download_file", ...scripts);
  const observed = await vault.connected();
  observed.connection.setReferences(referencesTo([], ["f"]));
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  const record = observed.connection.snapshot?.file("f");
  if (!record) throw new Error("the file is not listed");
  return [vault, observed, () => observed.connection.reader(record, CONSUMER)(2, signal)];
}

test("concurrent callers of one file share one download", async () => {
  const bytes = Buffer.from([0, 255, 0xc3, 0x28]);
  const [vault, , fetch] = await withFile({}, raw(bytes, 200, { "x-file-version": "2" }));
  const [first, second] = await Promise.all([fetch(), fetch()]);
  expect(first).toEqual({ bytes: expect.any(Redacted), version: 2 });
  expect(second).toEqual(first);
  expect(vault.bodies("download_file")).toEqual([
    { email: "ann@example.com", filename: "f", version: 2 },
  ]);
});

test.each<[string, object, Script, object]>([
  ["shorter than listed", {}, raw("abc"), { kind: "transient", code: "size_mismatch" }],
  [
    "other bytes than listed",
    { sha256: "0".repeat(64) },
    raw("abcd"),
    { kind: "transient", code: "digest_mismatch" },
  ],
  [
    "another version",
    {},
    raw("abcd", 200, { "x-file-version": "3" }),
    { kind: "unexpected-response", field: "x-file-version" },
  ],
  [
    "removed since the list",
    {},
    errorResponse(404, "version_not_found"),
    { kind: "permanent", code: "version_not_found" },
  ],
])("a downloaded file that is %s is rejected", async (_, listed, script, failure) => {
  const [, , fetch] = await withFile(listed, script);
  await expect(fetch()).rejects.toMatchObject(failure);
});

test("the deadline of a download grows by one second per MiB", async () => {
  const [vault, { clock }, fetch] = await withFile({ size: 20 * 1024 * 1024 }, silence);
  const failure = failureOf(fetch());
  await expect.poll(() => vault.count("download_file")).toBe(1);
  let ended = false;
  void failure.finally(() => (ended = true));
  await clock.advance(29_999);
  expect(ended).toBe(false);
  await clock.advance(1);
  expect(await failure).toMatchObject({ kind: "transient", code: "timeout" });
});

test("a file over the size limit is rejected before any download", async () => {
  const [vault, , fetch] = await withFile({ size: 64 * 1024 * 1024 + 1 }, raw("abcd"));
  await expect(fetch()).rejects.toMatchObject({ kind: "permanent", code: "too_large" });
  expect(vault.count("download_file")).toBe(0);
});

test("an aborted caller does not abort the request of the others", async () => {
  let finish: (() => void) | undefined;
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on(
      "version_expose",
      (response, request) => (finish = () => valueResponse("canary")(response, request)),
    );
  const observed = await vault.connected();
  const abort = new AbortController();
  const aborted = failureOf(
    observed.connection.reader(recordOf(observed, "a"), CONSUMER)(1, abort.signal),
  );
  const kept = textOf(observed, "a");
  await expect.poll(() => finish).toBeDefined();
  abort.abort();
  expect(await aborted).toMatchObject({ name: "AbortError" });
  finish?.();
  expect(await kept).toEqual(["canary", 1]);
});
