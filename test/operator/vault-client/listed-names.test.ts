import { expect, test } from "vitest";
import {
  errorResponse,
  listedSecret,
  listResponse,
  type Script,
  ScriptedVault,
  textOf,
  tokenResponse,
  valueResponse,
} from "../../lab/vault/scripted-vault.ts";
import { patternReference } from "../../../src/operator/vault-client/pattern.ts";
import {
  observeConnection,
  type ObservedConnection,
  referencesTo,
} from "../../lab/vault/vault-connection.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { InMemoryTransport } from "../../lab/simulated/vault/in-memory-transport.ts";
import { InMemoryVault } from "../../lab/simulated/vault/in-memory-vault.ts";
import { secretRecord } from "../../lab/vault/secret-record.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { ListSnapshot } from "../../../src/operator/vault-client/mirror/list-snapshot.ts";
import { readListAside } from "../../../src/operator/vault-client/mirror/list-reader.ts";
import { readList, trackRecords } from "../../../src/operator/vault-client/mirror/read-list.ts";
import {
  changeBetween,
  recreatedNames,
} from "../../../src/operator/vault-client/mirror/snapshot-change.ts";

const prefix = "cloud_type:*,environment_type:*,application_type:*,classification:*,";

/**
 * Responds with the entries that the scope of the token admits. The test reads the scope from the
 * logins.
 */
const scopedList =
  (vault: ScriptedVault): Script =>
  (response, request) => {
    const number = Number(request.headers.authorization?.slice(1)) - 1;
    const names = scopes(vault)[number]?.match(/(?<=secret_name:)[^,]+/g) ?? [];
    listResponse(...names.filter((name) => name !== "later").map((name) => listedSecret(name)))(
      response,
      request,
    );
  };

const scopes = (vault: ScriptedVault): string[] =>
  vault
    .bodies("generate_access_token")
    .map((body) => (body as { scope: string }).scope.replace(prefix, ""));

async function start(
  references = referencesTo(["a"]),
): Promise<{ vault: ScriptedVault; observed: ObservedConnection }> {
  const vault = await ScriptedVault.start();
  vault
    .on("generate_access_token", tokenResponse("T1"), tokenResponse("T2"), tokenResponse("T3"))
    .on("list_no_dup", scopedList(vault));
  return { vault, observed: await vault.connected({ onlyReferenced: true, references }) };
}

const names = ({ connection }: ObservedConnection, ...all: string[]): string[] =>
  all.filter((name) => connection.snapshot?.covers("secret", name) === true);

test("the scope of the token names exactly the referenced secrets", async () => {
  const { vault, observed } = await start(referencesTo(["b", "a"], ["nginx.conf"]));
  expect(scopes(vault)).toEqual(["secret_name:a,secret_name:b"]);
  expect(names(observed, "a", "b", "c")).toEqual(["a", "b"]);
});

test("with a pattern the scope admits every name", async () => {
  const { vault, observed } = await start();
  observed.connection.setReferences(referencesTo(["a", patternReference("^shop-")]));
  observed.connection.pollSoon();
  await observed.clock.advance(3_000);
  await expect.poll(() => scopes(vault)).toEqual(["secret_name:a", "secret_name:*"]);
  await expect.poll(() => names(observed, "a", "shop-x", "other")).toEqual(["a", "shop-x"]);
});

test("without a reference the scope admits no secret", async () => {
  const { vault } = await start(referencesTo([]));
  expect(scopes(vault)).toEqual(["secret_name:vaultsync.dev/none"]);
});

test("names that are new within 2 s share one login, and are covered only after it", async () => {
  const { vault, observed } = await start();
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(1_000);
  observed.connection.setReferences(referencesTo(["a", "b", "c"]));
  observed.connection.pollSoon();
  await observed.clock.advance(999);
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(names(observed, "a", "b", "c")).toEqual(["a"]);
  expect(vault.count("generate_access_token")).toBe(1);
  // The next list logs in; how soon it follows the last one depends on when that one arrived.
  await expect
    .poll(async () => {
      await observed.clock.advance(100);
      return scopes(vault);
    })
    .toEqual(["secret_name:a", "secret_name:a,secret_name:b,secret_name:c"]);
  await expect
    .poll(async () => {
      await observed.clock.advance(1_000);
      return names(observed, "a", "b", "c");
    })
    .toEqual(["a", "b", "c"]);
  expect(observed.connection.snapshot?.secrets("c")).toHaveLength(1);
  expect(vault.count("generate_access_token")).toBe(2);
});

test("a name that is no longer referenced causes no login", async () => {
  const { vault, observed } = await start(referencesTo(["a", "b"]));
  observed.connection.setReferences(referencesTo(["a"]));
  await observed.clock.advance(60_000);
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(vault.count("generate_access_token")).toBe(1);
});

test("a failed login for a new name keeps the token, and is reported until it succeeds", async () => {
  const { vault, observed } = await start();
  vault.on("generate_access_token", errorResponse(401, "invalid_credentials"), tokenResponse("T3"));
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(2_000);
  await expect
    .poll(() => observed.connection.health)
    .toMatchObject({ state: "failing", error: { code: "credentials" } });
  await expect.poll(() => vault.count("list_no_dup")).toBeGreaterThan(1);
  expect(names(observed, "a", "b")).toEqual(["a"]);
  expect(observed.connection.loginPause).toMatchObject({ until: observed.clock.now() + 60_000 });
  const lists = vault.count("list_no_dup");
  for (let second = 0; second < 20; second += 1) {
    await observed.clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(vault.count("list_no_dup") - lists).toBeLessThan(3);
});

test("a list in progress does not cover a name of the token that replaced its own", async () => {
  const { vault, observed } = await start();
  let respond: (() => void) | undefined;
  vault
    .on(
      "list_no_dup",
      (response, request) => (respond = () => listResponse(listedSecret("a"))(response, request)),
      scopedList(vault),
    )
    .on("version_expose", valueResponse("canary", { key_version: 1 }));
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect.poll(() => respond).toBeDefined();
  observed.connection.setReferences(referencesTo(["a", "b"]));
  await observed.clock.advance(2_000);
  await textOf(observed, "a");
  expect(scopes(vault)).toHaveLength(2);
  const lists = observed.connection.snapshot?.progress("secret")?.lists ?? 0;
  respond?.();
  await expect.poll(() => observed.connection.snapshot?.progress("secret")?.lists).toBe(lists + 1);
  expect(names(observed, "a", "b")).toEqual(["a"]);
});

const email = "ops@example.com";

test("an uncovered name is listed with backoff while the credentials cannot be read", async () => {
  const clock = new VirtualClock();
  const vault = new InMemoryVault(clock);
  vault.setPassword(email, "password");
  let reads = 0;
  const read = (): Promise<{ password: Redacted<string>; version: string }> => {
    reads += 1;
    if (reads === 1) return Promise.resolve({ password: new Redacted("password"), version: "1" });
    // A loop without any pause would never let the test continue.
    return reads > 100
      ? new Promise(() => undefined)
      : Promise.reject(new Error("the API server is unavailable"));
  };
  const transport = new InMemoryTransport({ vault, clock });
  const { connection } = observeConnection({
    url: "",
    transport,
    email,
    clock,
    credentials: { kind: "password", read },
    follow: "Auto",
  });
  connection.setReferences(referencesTo(["a"]));
  await clock.advance(5_000);
  vault.revoke(email, { refresh: true });
  await clock.advance(5_000);
  connection.setReferences(referencesTo(["a", "b"]));
  await clock.advance(60_000);
  expect(reads).toBeLessThan(15);
});

const SHOP = patternReference("^shop-");
const ALL = patternReference("");

let lists = 0;

/** Returns the snapshot after one with a list of these secrets, searched for these references. */
function snapshot(
  secrets: readonly Partial<SecretRecord>[],
  references: readonly string[],
  before?: ListSnapshot,
): ListSnapshot {
  lists += 1;
  const progress = { lists, at: lists, previousAt: -Infinity };
  const origin = {
    listedAt: lists,
    listedAtMonotonic: lists,
    progress: { secret: progress, file: progress },
  };
  const records = secrets.map((changes) => secretRecord(changes));
  return new ListSnapshot(origin, trackRecords(records, new Set(references)), undefined, before);
}

const named = (...all: readonly string[]): Partial<SecretRecord>[] => all.map((name) => ({ name }));
const changed = (before: ListSnapshot | undefined, after: ListSnapshot): string[] =>
  [...changeBetween(before, after).secrets].sort();

test("the entries that match a pattern are kept, and no others", () => {
  const { secretList, secretCount } = snapshot(named("shop-a", "other", "shop-b", "db"), [
    SHOP,
    "db",
  ]);
  expect([...secretList.records.keys()]).toEqual(["shop-a", "shop-b", "db"]);
  expect(secretCount).toBe(4);
});

test("the names that match a pattern are those that the list has", () => {
  const listed = snapshot(named("shop-a", "other", "shop-b"), [
    SHOP,
    ALL,
    patternReference("^none$"),
  ]);
  expect([...listed.matching("secret", SHOP)]).toEqual(["shop-a", "shop-b"]);
  expect([...listed.matching("secret", ALL)]).toEqual(["shop-a", "other", "shop-b"]);
  expect([...listed.matching("secret", patternReference("^none$"))]).toEqual([]);
});

test("a pattern covers itself and every name that matches it, listed or not", () => {
  const listed = snapshot(named("shop-a"), [SHOP]);
  const covered = ["shop-a", "shop-gone", "other", SHOP, ALL].map((reference) =>
    listed.covers("secret", reference),
  );
  expect(covered).toEqual([true, true, false, true, false]);
});

test("only matching names change, and the patterns that match them", () => {
  const before = snapshot(named("shop-a", "shop-b", "shop-c", "other"), [SHOP, ALL, "db"]);
  const shopOnly = snapshot(
    [...named("shop-a", "other"), { name: "shop-b", version: 9 }, { name: "shop-new" }],
    [SHOP, ALL, "db"],
    before,
  );
  expect(changed(before, shopOnly)).toEqual([ALL, SHOP, "shop-b", "shop-c", "shop-new"].sort());
  expect(
    changed(
      shopOnly,
      snapshot(
        [...named("shop-a"), { name: "shop-b", version: 9 }, { name: "shop-new" }],
        [SHOP, ALL],
        shopOnly,
      ),
    ),
  ).toEqual([ALL, "other"]);
});

test("a list without a difference has no change", () => {
  const before = snapshot(named("shop-a", "db"), [SHOP, "db"]);
  expect(changed(before, snapshot(named("shop-a", "db"), [SHOP, "db"], before))).toEqual([]);
});

test("a pattern that the list before does not cover is a change, also if nothing matches it", () => {
  const before = snapshot(named("shop-a", "db"), ["db"]);
  expect(changed(before, snapshot(named("shop-a", "db"), ["db", SHOP], before))).toEqual([
    SHOP,
    "shop-a",
  ]);
  expect(changed(before, snapshot(named("db"), ["db", SHOP], before))).toEqual([SHOP]);
  expect(changed(undefined, snapshot(named("shop-a"), [SHOP]))).toEqual([SHOP, "shop-a"]);
});

test("a matching name that was gone and is back counts as recreated", () => {
  const first = snapshot(named("shop-a"), [SHOP]);
  const gone = snapshot([], [SHOP], first);
  expect(recreatedNames(first, gone, changeBetween(first, gone)).secrets.has("shop-a")).toBe(true);
});

test("the absence of a matching name begins with the first list without it", () => {
  const first = snapshot(named("shop-a"), [SHOP]);
  const second = snapshot([], [SHOP], first);
  const third = snapshot([], [SHOP], second);
  expect(third.missingSince("shop-a", undefined)).toBe(second.listedAt);
});

test("a long list is read in a thread with the same result", async () => {
  const secrets = Array.from({ length: 6_000 }, (_, at) => ({
    key_name: `${at % 2 === 0 ? "shop" : "other"}-${at}`,
    key_version: 1,
    x: "x".repeat(60),
  }));
  const body = (): Uint8Array => new TextEncoder().encode(JSON.stringify({ secrets }));
  expect(body().byteLength).toBeGreaterThan(512 * 1024);
  const tracked = new Set([SHOP, "other-1"]);
  const source = { tracked, maxBytes: 16 * 1024 * 1024 };
  const aside = await readListAside("list_no_dup", { body: body(), ...source }, "shop/");
  expect(aside).toEqual(readList("list_no_dup", { body: body(), ...source }));
  expect(aside.found.get(SHOP)?.size).toBe(3_000);
});
