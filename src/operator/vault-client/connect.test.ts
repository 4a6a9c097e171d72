import { inspect } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../../test/support/assertions/failure-of.ts";
import { json, raw, refuse, reset, ScriptedServer, silence, type Script } from "../../../test/support/vault/scripted-server.ts";
import { observeConnection, untilHealthy, type ObservedConnection } from "../../../test/support/vault/vault-connection.ts";
import { operationPath, type Operation } from "../../protocol/operation-paths.ts";
import { Redacted } from "../../lib/redacted.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import type { Health, SecretRecord } from "./connection.ts";

const signal = new AbortController().signal;
const token = (name: string, more: object = {}): Script =>
  json({ access_token: name, refresh_token: `${name}-refresh`, expires_in: 86_400, scope: "said", ...more });
const secret = (name: string, key_version = 1, more: object = {}): object => ({ key_name: name, key_version, ...more });
const list = (...secrets: object[]): Script => json({ secrets });
const value = (key_value: string, more: object = {}): Script => json({ key_value, ...more });

/** This answer for one token, a 401 for any other. */
const onlyFor =
  (good: string, script: Script): Script =>
  (response, call) =>
    (call.headers.authorization === good ? script : refuse(401, "invalid_token"))(response, call);

class Vault {
  readonly server: ScriptedServer;

  constructor(server: ScriptedServer) {
    this.server = server;
    this.on("generate_access_token", token("T1")).on("refresh_token", token("T2")).on("list_no_dup", list());
  }

  on(operation: Operation, ...scripts: Script[]): this {
    this.server.on(operationPath[operation], ...scripts);
    return this;
  }

  count(operation: Operation): number {
    return this.server.to(operationPath[operation]).length;
  }

  bodies(operation: Operation): unknown[] {
    return this.server.to(operationPath[operation]).map((call) => call.body);
  }

  connect(options: Partial<Omit<ConnectionOptions, "clock">> = {}): ObservedConnection {
    return observeConnection({ url: this.server.url, ...options });
  }

  /** Connects and waits for the first list. */
  connected(options: Partial<Omit<ConnectionOptions, "clock">> = {}): Promise<ObservedConnection> {
    return untilHealthy(this.connect(options));
  }
}

async function startVault(): Promise<Vault> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return new Vault(server);
}

function recordOf({ connection }: ObservedConnection, name: string): SecretRecord {
  const [record] = connection.snapshot?.secrets(name) ?? [];
  if (!record) throw new Error(`${name} is not listed`);
  return record;
}

async function textOf(observed: ObservedConnection, name: string, version?: number): Promise<[string, number]> {
  const record = recordOf(observed, name);
  const answer = await observed.connection.secretValue(record, version ?? record.version, signal);
  return [Buffer.from(answer.value.reveal()).toString(), answer.version];
}

/** Moves the clock on until a list has come in after `ms`. */
async function nextList({ clock, calls }: ObservedConnection, ms: number): Promise<void> {
  const before = calls.length;
  await clock.advance(ms);
  await expect.poll(() => calls.length).toBeGreaterThan(before);
  await clock.advance(0);
}

test("logs in, lists, and tells all names of the first list", async () => {
  const vault = (await startVault()).on(
    "list_no_dup",
    list(secret("a", 3, { owner: "ann@example.com", shared: false }), secret("b")),
  );
  const observed = await vault.connected();
  expect(vault.bodies("generate_access_token")).toEqual([
    {
      email: "ann@example.com",
      password: "canary-password",
      scope: "cloud_type:*,environment_type:*,application_type:*,classification:*,secret_name:*",
      expiration_hours: 24,
    },
  ]);
  expect(vault.server.to(operationPath.list_no_dup).map(({ headers, body }) => [headers.authorization, body])).toEqual([
    ["T1", { email: "ann@example.com" }],
  ]);
  expect(observed.changes).toEqual([{ secrets: ["a", "b"], files: [] }]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
  expect(observed.connection.snapshot).toMatchObject({ sequence: 1, secretCount: 2, fileCount: undefined });
  expect(recordOf(observed, "a")).toMatchObject({ version: 3, owner: "ann@example.com", shared: false });
  const now = observed.clock.now();
  expect(observed.connection.token).toMatchObject({ refreshedAt: now, expiresAt: now + 86_400_000, scope: "said" });
});

test("nothing changes: one list an interval, and nothing else", async () => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a")));
  const observed = await vault.connected();
  for (let interval = 0; interval < 5; interval += 1) await nextList(observed, 60_000);
  expect(observed.calls).toEqual(["generate_access_token ok", ...Array.from({ length: 6 }, () => "list_no_dup ok")]);
  expect(observed.changes).toHaveLength(1);
  expect(observed.connection.snapshot?.sequence).toBe(6);
});

test("an unchanged list need not be sent again", async () => {
  const vault = (await startVault()).on(
    "list_no_dup",
    json({ secrets: [secret("a")] }, 200, { etag: '"canary"' }),
    raw("", 304),
    raw("", 304),
    list(secret("a", 2)),
  );
  const observed = await vault.connected();
  for (let interval = 0; interval < 3; interval += 1) await nextList(observed, 60_000);
  const conditions = vault.server.to(operationPath.list_no_dup).map(({ headers }) => headers["if-none-match"]);
  expect(conditions).toEqual([undefined, '"canary"', '"canary"', '"canary"']);
  expect(observed.calls.slice(1)).toEqual(["list_no_dup ok", "list_no_dup unchanged", "list_no_dup unchanged", "list_no_dup ok"]);
  expect(observed.connection.snapshot?.sequence).toBe(4);
  expect(observed.changes.map(({ secrets }) => secrets)).toEqual([["a"], ["a"]]);
});

test("a change names what differs and nothing else; pollSoon does not wait for the interval", async () => {
  const vault = (await startVault()).on(
    "list_no_dup",
    list(secret("same"), secret("newer"), secret("gone")),
    list(secret("same"), secret("newer", 2), secret("new")),
  );
  const observed = await vault.connected();
  observed.connection.pollSoon();
  await expect.poll(() => observed.changes).toHaveLength(2);
  expect(observed.changes[1]).toEqual({ secrets: ["gone", "new", "newer"], files: [] });
});

test("calls for a list while one is under way share the next one", async () => {
  const vault = await startVault();
  const observed = await vault.connected();
  for (let call = 0; call < 10; call += 1) observed.connection.pollSoon();
  await expect.poll(() => observed.connection.snapshot?.sequence).toBe(3);
  await observed.clock.advance(1_000);
  expect(vault.count("list_no_dup")).toBe(3);
});

test.each<[string, Script]>([
  ["a login page", raw("<html>canary</html>", 200, { "content-type": "text/html" })],
  ["an empty body", raw("")],
  ["null", raw("null")],
  ["an empty array", raw("[]")],
  ["an empty object", raw("{}")],
  ["a string", raw('"canary"')],
  ["a list of another type", json({ secrets: "canary" })],
  ["a record without a version", json({ secrets: [secret("a"), { key_name: "canary" }] })],
  ["a version that is no count", json({ secrets: [{ key_name: "canary", key_version: "NaN" }] })],
  ["deep nesting", raw("[".repeat(100_000))],
  ["broken UTF-8", raw(Buffer.from([0x7b, 0xff, 0x7d]))],
  ["an error with status 200", json({ error: "canary", data: [] })],
  ["a proxy's 404", raw("<html>canary</html>", 404)],
  ["a redirect", raw("", 302, { location: "http://127.0.0.1/canary" })],
  ["a refusal", refuse(403, "forbidden")],
  ["an unknown path", refuse(404, "not_found")],
  ["a failure", raw("canary", 500)],
  ["a broken connection", reset],
])("%s instead of a list never means that anything is gone", async (_, script) => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a")), script);
  const observed = await vault.connected();
  const { snapshot } = observed.connection;
  observed.connection.pollSoon();
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(observed.connection.snapshot).toBe(snapshot);
  expect(observed.changes).toHaveLength(1);
  expect(inspect(observed.connection.health, { depth: 9 })).not.toContain("canary");
});

test("many callers of one version share one call, and later ones the cache", async () => {
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a", 2)))
    .on("version_expose", value("canary-value", { key_version: 2 }));
  const observed = await vault.connected();
  const answers = await Promise.all(Array.from({ length: 50 }, () => textOf(observed, "a")));
  expect(new Set(answers.map(String))).toEqual(new Set(["canary-value,2"]));
  expect(await textOf(observed, "a")).toEqual(["canary-value", 2]);
  expect(vault.bodies("version_expose")).toEqual([{ email: "ann@example.com", key_name: "a", key_version: 2 }]);
});

test.each([
  ["", 0],
  [" \n\t", 3],
  ["a\0b", 3],
  ["😀", 4],
  ["\uFEFFbom", 6],
  ["x".repeat(100_000), 100_000],
])("value %# survives byte for byte", async (text, length) => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a"))).on("version_expose", value(text));
  const observed = await vault.connected();
  const { value: bytes } = await observed.connection.secretValue(recordOf(observed, "a"), 1, signal);
  expect(bytes.reveal()).toHaveLength(length);
  expect(Buffer.from(bytes.reveal()).equals(Buffer.from(text))).toBe(true);
});

test("bytes of another version than asked for carry the version that the answer names", async () => {
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a", 6)))
    .on("version_expose", value("v5", { key_version: "5" }));
  const observed = await vault.connected();
  expect(await textOf(observed, "a")).toEqual(["v5", 5]);
  // What is in the cache is version 5, not 6.
  expect(await textOf(observed, "a", 5)).toEqual(["v5", 5]);
  expect(vault.count("version_expose")).toBe(1);
});

test("a name made anew at the same version is fetched anew", async () => {
  const vault = (await startVault())
    .on(
      "list_no_dup",
      list(secret("a", 1, { created_at: "2026-01-01T00:00:00Z" })),
      list(secret("a", 1, { created_at: "2026-02-02T00:00:00Z" })),
    )
    .on("version_expose", value("old"), value("new"));
  const observed = await vault.connected();
  expect(await textOf(observed, "a")).toEqual(["old", 1]);
  await nextList(observed, 60_000);
  expect(observed.changes).toHaveLength(2);
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
});

test("a deadline of the vault's is followed by a list at once", async () => {
  const vault = await startVault();
  const clockStart = Date.UTC(2026, 10, 21);
  vault.on("list_no_dup", list(secret("a", 1, { delete_at: clockStart + 10_000 }), secret("b")), list(secret("b")));
  const observed = await vault.connected();
  await observed.clock.advance(10_019);
  expect(vault.count("list_no_dup")).toBe(1);
  await nextList(observed, 1);
  expect(observed.changes[1]).toEqual({ secrets: ["a"], files: [] });
});

test("what is still listed after its deadline is looked at less and less often", async () => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a", 1, { delete_at: Date.UTC(2026, 10, 20) })));
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 8; poll += 1) {
    const wait = observed.clock.nextIn ?? 0;
    waits.push(wait);
    await nextList(observed, wait);
  }
  expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000, 45_000]);
});

test("the next one that is late is looked at as often at first", async () => {
  const late = { delete_at: Date.UTC(2026, 10, 20) };
  const vault = (await startVault()).on(
    "list_no_dup",
    list(secret("a", 1, late)),
    list(secret("a", 1, late)),
    list(),
    list(secret("b", 1, late)),
  );
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 4; poll += 1) {
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
  }
  expect(waits).toEqual([750, 1_500, 60_000, 750]);
});

test("what was fetched while its name was made anew is not kept", async () => {
  let finish: (() => void) | undefined;
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a", 1, { created_at: 1e12 })), list(secret("a", 1, { created_at: 2e12 })))
    .on("version_expose", (response, call) => (finish = () => value("old")(response, call)), value("new"));
  const observed = await vault.connected();
  const old = textOf(observed, "a");
  await expect.poll(() => finish).toBeDefined();
  observed.connection.pollSoon();
  await expect.poll(() => observed.changes).toHaveLength(2);
  // Who asks from now on does not join the call for what was.
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
  finish?.();
  expect(await old).toEqual(["old", 1]);
  expect(await textOf(observed, "a")).toEqual(["new", 1]);
});

test("files are listed only while they are wanted", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await startVault()).on("list_no_dup", list(secret("a"))).on("list_file", json({ files: [file] }));
  const observed = await vault.connected();
  expect(vault.count("list_file")).toBe(0);
  observed.connection.listFiles(true);
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  expect(observed.changes[1]).toEqual({ secrets: [], files: ["f.bin"] });
  observed.connection.listFiles(false);
  await nextList(observed, 60_000);
  expect(vault.count("list_file")).toBe(1);
  expect(observed.connection.snapshot?.fileCount).toBeUndefined();
});

test("files that cannot be listed do not hold the secrets up, and are not gone", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a")), list(secret("a")), list(secret("a", 2)))
    .on("list_file", json({ files: [file] }), raw("<html>", 200));
  const observed = await vault.connected();
  observed.connection.listFiles(true);
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  observed.connection.pollSoon();
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(observed.connection.health.error).toMatchObject({ operation: "list_file", field: "files" });
  expect(recordOf(observed, "a").version).toBe(2);
  expect(observed.connection.snapshot?.file("f.bin")).toMatchObject(file);
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 9; poll += 1) {
    await expect.poll(() => observed.clock.pending).toBe(1);
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
    await expect.poll(() => vault.count("list_file")).toBe(poll + 3);
  }
  expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 60_000, 60_000]);
});

async function withFile(more: object, ...scripts: Script[]): Promise<[Vault, ObservedConnection, () => Promise<unknown>]> {
  const vault = await startVault();
  vault.on("list_file", json({ files: [{ filename: "f", version: 2, size: 4, ...more }] })).on("download_file", ...scripts);
  const observed = await vault.connected();
  observed.connection.listFiles(true);
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  const record = observed.connection.snapshot?.file("f");
  if (!record) throw new Error("the file is not listed");
  return [vault, observed, () => observed.connection.fileContent(record, 2, signal)];
}

test("a file comes as its bytes, once for all who ask", async () => {
  const bytes = Buffer.from([0, 255, 0xc3, 0x28]);
  const [vault, , fetch] = await withFile({}, raw(bytes, 200, { "x-file-version": "2" }));
  const [first, second] = await Promise.all([fetch(), fetch()]);
  expect(first).toEqual({ bytes: expect.any(Redacted), version: 2 });
  expect(second).toEqual(first);
  expect(vault.bodies("download_file")).toEqual([{ email: "ann@example.com", filename: "f", version: 2 }]);
});

test.each<[string, object, Script, object]>([
  ["shorter than listed", {}, raw("abc"), { kind: "transient", code: "size_mismatch" }],
  ["other bytes than listed", { sha256: "0".repeat(64) }, raw("abcd"), { kind: "transient", code: "digest_mismatch" }],
  ["another version", {}, raw("abcd", 200, { "x-file-version": "3" }), { kind: "unexpected-response", field: "x-file-version" }],
  ["gone since", {}, refuse(404, "version_not_found"), { kind: "permanent", code: "version_not_found" }],
])("a file that is %s is not handed out", async (_, listed, script, failure) => {
  const [, , fetch] = await withFile(listed, script);
  await expect(fetch()).rejects.toMatchObject(failure);
});

test("a download may take as much longer as its size takes at 1 MiB a second", async () => {
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

test("a file over the cap is refused before any download", async () => {
  const [vault, , fetch] = await withFile({ size: 64 * 1024 * 1024 + 1 }, raw("abcd"));
  await expect(fetch()).rejects.toMatchObject({ kind: "permanent", code: "too_large" });
  expect(vault.count("download_file")).toBe(0);
});

test("a 401 in the middle of work renews the token once for all, and the calls are repeated", async () => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a"), secret("b")));
  const observed = await vault.on("version_expose", onlyFor("T2", value("canary"))).connected();
  expect(await Promise.all([textOf(observed, "a"), textOf(observed, "b")])).toEqual([
    ["canary", 1],
    ["canary", 1],
  ]);
  expect(vault.bodies("refresh_token")).toEqual([{ refresh_token: "T1-refresh", used_access_token: "T1" }]);
  expect(vault.count("generate_access_token")).toBe(1);
  expect(vault.count("version_expose")).toBe(4);
});

test("transient failures open the circuit, one call probes, and success closes it", async () => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a"), secret("b"))).on("version_expose", value("kept"));
  const observed = await vault.connected();
  await textOf(observed, "a");
  vault.on("list_no_dup", raw("", 503));
  observed.connection.pollSoon();
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  while (!observed.circuit.includes(true)) await nextList(observed, observed.clock.nextIn ?? 0);
  expect(vault.count("list_no_dup")).toBe(6);
  // Nothing is sent while it is open, and what is at hand is still served.
  expect(await failureOf(textOf(observed, "b"))).toMatchObject({ kind: "transient", code: "circuit_open" });
  expect(await textOf(observed, "a")).toEqual(["kept", 1]);
  expect(vault.count("version_expose")).toBe(1);
  const { sequence } = observed.connection.snapshot ?? {};
  observed.connection.pollSoon();
  await observed.clock.advance(0);
  expect([vault.count("list_no_dup"), observed.connection.snapshot?.sequence]).toEqual([6, sequence]);
  expect(observed.connection.health.error).toMatchObject({ code: "server_error", status: 503 });
  vault.on("list_no_dup", list(secret("a"), secret("b")));
  while (observed.connection.health.state === "failing") await nextList(observed, observed.clock.nextIn ?? 0);
  expect(observed.circuit).toEqual([true, false]);
  expect(await textOf(observed, "b")).toEqual(["kept", 1]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy", "failing", "healthy"]);
});

test("after a 429 nothing is sent before the time it names", async () => {
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a"), secret("b")))
    .on("version_expose", refuse(429, "rate_limited", { "retry-after": "30" }), value("canary"));
  const observed = await vault.connected();
  expect(await failureOf(textOf(observed, "a"))).toMatchObject({ kind: "rate-limited", retryAfterMs: 30_000 });
  await observed.clock.advance(10_000);
  expect(await failureOf(textOf(observed, "b"))).toMatchObject({ kind: "rate-limited", retryAfterMs: 20_000 });
  expect(vault.count("version_expose")).toBe(1);
  await observed.clock.advance(20_000);
  expect(await textOf(observed, "b")).toEqual(["canary", 1]);
});

test("a failing vault is asked after 1 s, 2 s, 4 s, … with jitter, at most every 5 min", async () => {
  const vault = (await startVault()).on("list_no_dup", raw("<html>"));
  const observed = vault.connect();
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 11; poll += 1) {
    await observed.clock.advance(0);
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
  }
  expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000, 24_000, 48_000, 96_000, 192_000, 225_000, 225_000]);
  expect(observed.healths.map(({ state }) => state)).toEqual(["failing"]);
});

test("a wrong password is tried after 1, 5, 15, 60, 60 minutes, and at once when the credentials changed", async () => {
  const vault = (await startVault()).on("generate_access_token", refuse(401, "invalid_credentials"));
  const observed = vault.connect();
  const waits: (number | undefined)[] = [];
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await expect.poll(() => vault.count("generate_access_token")).toBe(attempt);
    await expect.poll(() => observed.clock.pending).toBe(1);
    waits.push(observed.clock.nextIn);
    await observed.clock.advance(observed.clock.nextIn ?? 0);
  }
  expect(waits.map((wait) => (wait ?? 0) / 60_000)).toEqual([1, 5, 15, 60, 60]);
  expect(observed.connection.health.error).toMatchObject({ kind: "auth", code: "credentials" });
  await expect.poll(() => vault.count("generate_access_token")).toBe(6);
  await expect.poll(() => observed.clock.pending).toBe(1);
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  expect(vault.count("generate_access_token")).toBe(6);
  vault.on("generate_access_token", token("T9"));
  observed.connection.credentialsChanged();
  await expect.poll(() => observed.connection.health.state).toBe("healthy");
});

test("closing ends what is under way and leaves no timer", async () => {
  const vault = (await startVault()).on("list_no_dup", list(secret("a")), silence).on("version_expose", silence);
  const observed = await vault.connected();
  const failure = failureOf(textOf(observed, "a"));
  observed.connection.pollSoon();
  await expect.poll(() => vault.server.calls).toHaveLength(4);
  await observed.connection[Symbol.asyncDispose]();
  expect(await failure).toMatchObject({ name: "AbortError" });
  expect(observed.clock.pending).toBe(0);
  expect(observed.connection.health.state).toBe("healthy");
  await expect(textOf(observed, "a")).rejects.toMatchObject({ name: "AbortError" });
});

test("one caller that gives up does not take the value from the others", async () => {
  let finish: (() => void) | undefined;
  const vault = (await startVault())
    .on("list_no_dup", list(secret("a")))
    .on("version_expose", (response, call) => (finish = () => value("canary")(response, call)));
  const observed = await vault.connected();
  const abort = new AbortController();
  const given = failureOf(observed.connection.secretValue(recordOf(observed, "a"), 1, abort.signal));
  const kept = textOf(observed, "a");
  await expect.poll(() => finish).toBeDefined();
  abort.abort();
  expect(await given).toMatchObject({ name: "AbortError" });
  finish?.();
  expect(await kept).toEqual(["canary", 1]);
});

test("a credential source that fails is the connection's health, and no log-in is sent", async () => {
  const vault = await startVault();
  const missing = new Error("no such Secret");
  const observed = vault.connect({ credentials: { kind: "password", password: () => Promise.reject(missing) } });
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({ state: "failing", error: missing } satisfies Partial<Health>);
  expect(vault.server.calls).toEqual([]);
});
