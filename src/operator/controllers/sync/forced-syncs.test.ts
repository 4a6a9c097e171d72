import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { syncItem, syncResource } from "../../../../test/support/kube/sync-resource.ts";
import { InMemoryConnection } from "../../../../test/support/vault/in-memory-connection.ts";
import { ignoredCallbacks } from "../../../../test/support/vault/open-connection.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { FORCED_LIST_MS, ForcedSyncs, isForced } from "./forced-syncs.ts";

const KEY = "VaultSecret/shop/db";
const forcedBy = (forceSync: string | undefined, changes: Partial<SyncResource> = {}): SyncResource =>
  syncResource([syncItem("a")], { forceSync, ...changes });

/** A connection whose lists end when the test says so. */
class SlowConnection extends InMemoryConnection {
  readonly lists: { readonly signal: AbortSignal; readonly end: (error?: Error) => void }[] = [];

  override listAgain(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.lists.push({ signal, end: (error) => (error === undefined ? resolve() : reject(error)) });
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    return promise;
  }
}

function setUp() {
  const clock = new VirtualClock();
  const requeued: string[] = [];
  const forced = new ForcedSyncs(clock, (key) => void requeued.push(key));
  const connection = new SlowConnection(clock, ignoredCallbacks);
  const hasListed = (resource: SyncResource): boolean => forced.hasListed(KEY, resource, connection);
  return { clock, requeued, forced, connection, hasListed };
}

describe("isForced", () => {
  test.each<[boolean, string | undefined, string | undefined]>([
    [false, undefined, undefined],
    [false, undefined, "now"],
    [false, "now", "now"],
    [true, "now", undefined],
    [true, "again", "now"],
  ])("is %s if the annotation is %s and the status echoes %s", (expected, forceSync, lastForceSync) => {
    expect(isForced(forcedBy(forceSync), { lastForceSync })).toBe(expected);
  });
});

describe("ForcedSyncs", () => {
  test.each<[string, Error | undefined]>([
    ["succeeds", undefined],
    ["fails", new Error("no vault")],
  ])("lists once, and requeues the resource when that %s", async (_, error) => {
    const { clock, requeued, connection, hasListed } = setUp();
    expect([hasListed(forcedBy("now")), hasListed(forcedBy("now"))]).toEqual([false, false]);
    expect([connection.lists.length, requeued]).toEqual([1, []]);
    connection.lists[0]?.end(error);
    await clock.advance(0);
    expect([requeued, clock.pending]).toEqual([[KEY], 0]);
    expect(hasListed(forcedBy("now"))).toBe(true);
    expect(connection.lists).toHaveLength(1);
  });

  test("gives up a list that takes too long", async () => {
    const { clock, requeued, connection, hasListed } = setUp();
    hasListed(forcedBy("now"));
    await clock.advance(FORCED_LIST_MS - 1);
    expect(connection.lists[0]?.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(connection.lists[0]?.signal.reason).toEqual(new Error("the list takes too long"));
    expect([requeued, hasListed(forcedBy("now"))]).toEqual([[KEY], true]);
  });

  test.each<[string, SyncResource]>([
    ["another value", forcedBy("again")],
    ["a recreated resource", forcedBy("now", { uid: "uid-2" })],
  ])("lists again for %s", async (_, other) => {
    const { clock, connection, hasListed } = setUp();
    hasListed(forcedBy("now"));
    connection.lists[0]?.end();
    await clock.advance(0);
    expect(hasListed(other)).toBe(false);
    expect(connection.lists).toHaveLength(2);
  });

  test("lists again for the value of a forgotten resource", async () => {
    const { clock, forced, connection, hasListed } = setUp();
    hasListed(forcedBy("now"));
    connection.lists[0]?.end();
    await clock.advance(0);
    forced.forget(KEY);
    expect(hasListed(forcedBy("now"))).toBe(false);
    expect(connection.lists).toHaveLength(2);
  });
});
