import { testFacts, testRemovalFacts } from "../../../../test/lab/vault/open-connection.ts";
import { describe, expect, test } from "vitest";
import { BlastLimits } from "./blast-limit.ts";
import { ConnectionRegistry } from "./connection-registry.ts";
import type { Staleness } from "../../sync/staleness.ts";
import type { SnapshotChange } from "../../vault-client/connection.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { InMemoryConnection } from "../../../../test/lab/vault/in-memory-connection.ts";

const KEY = "shop/vault";
export const INTERVAL = 60_000;
const wanted = {
  fingerprint: "1",
  id: "1",
  vault: "vault",
  account: "ops@example.com",
  facts: testFacts,
  trustedOwners: undefined,
  receive: "Trusted" as const,
  intervalMs: INTERVAL,
  stale: undefined as Staleness | undefined,
  wasHeld: false,
};

/**
 * Returns a registry of in-memory connections on a virtual clock, and the calls of its listener.
 */
export function openRegistry(exists: () => boolean = () => true) {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const listener = {
    onSnapshotChange: (_: string, { secrets }: SnapshotChange) =>
      void calls.push(`changed ${[...secrets].join()}`),
    onProven: (_key: string, _kind: string, names: ReadonlySet<string>) =>
      void calls.push(`proven ${[...names].join()}`),
    onConnectionStateChange: () => void calls.push("state"),
    mayRemoveEntries: () => false,
    removalFactsOf: () => testRemovalFacts,
    statusChanged: () => void calls.push("status"),
    circuitChanged: (_: string, open: boolean) => void calls.push(open ? "opened" : "closed"),
  };
  const connections = new ConnectionRegistry({
    clock,
    blastLimits: new BlastLimits(),
    exists,
    users: () => listener,
    reporter: () => listener,
  });
  const opened: InMemoryConnection[] = [];
  const open = async (changes: Partial<typeof wanted> = {}): Promise<InMemoryConnection> => {
    await connections.open(KEY, { ...wanted, ...changes }, (callbacks) => {
      const connection = new InMemoryConnection(clock, callbacks);
      opened.push(connection);
      return connection;
    });
    return opened.at(-1)!;
  };
  const staleSince = (): number | undefined => {
    const state = connections.get(KEY);
    return state.state === "open" ? state.stale?.since : undefined;
  };
  /** Returns the listener calls since the last time. */
  const takeCalls = (): string[] => calls.splice(0);
  return { clock, connections, opened, open, staleSince, takeCalls };
}

describe("ConnectionRegistry.get", () => {
  test('returns "absent" for an unknown key, and "opening" for one not yet opened', () => {
    expect(openRegistry(() => false).connections.get(KEY)).toEqual({ state: "absent" });
    expect(openRegistry().connections.get(KEY)).toEqual({ state: "opening" });
  });

  test('returns "absent" as soon as the VaultConnection is being deleted, before it is closed', async () => {
    let exists = true;
    const { connections, open } = openRegistry(() => exists);
    await open();
    exists = false;
    expect(connections.get(KEY)).toEqual({ state: "absent" });
  });

  test("returns vault, account and interval of an open connection", async () => {
    const { connections, open } = openRegistry();
    const connection = await open();
    expect(connections.get(KEY)).toEqual({
      state: "open",
      connection,
      fingerprint: "1",
      id: "1",
      vault: "vault",
      account: "ops@example.com",
      facts: testFacts,
      trustedOwners: undefined,
      receive: "Trusted",
      intervalMs: INTERVAL,
      removals: expect.objectContaining({ held: 0 }),
      stale: undefined,
    });
    expect(connections.client(KEY)).toBe(connection);
  });

  test("returns the reason why a connection cannot be opened", async () => {
    const { connections, open } = openRegistry();
    const connection = await open();
    await connections.markInvalid(KEY, { reason: "InvalidSpec", message: "spec.url: no" });
    expect(connections.get(KEY)).toEqual({ state: "invalid", message: "spec.url: no" });
    expect(connections.client(KEY)).toBeUndefined();
    expect(connection.closed).toBe(true);
  });
});

describe("ConnectionRegistry.isStarting", () => {
  test("is true until the first list or failure of a connection that exists", async () => {
    let exists = true;
    const { connections, open } = openRegistry(() => exists);
    expect(connections.isStarting(KEY)).toBe(true);
    const listed = await open();
    expect(connections.isStarting(KEY)).toBe(true);
    listed.list({ changed: ["db"] });
    expect(connections.isStarting(KEY)).toBe(false);
    const failing = await open({ fingerprint: "2" });
    expect(connections.isStarting(KEY)).toBe(true);
    failing.setHealth("failing", new Error("refused"));
    expect(connections.isStarting(KEY)).toBe(false);
    await connections.markInvalid(KEY, { reason: "InvalidSpec", message: "spec.url: no" });
    expect(connections.isStarting(KEY)).toBe(false);
    await connections.close(KEY);
    exists = false;
    expect(connections.isStarting(KEY)).toBe(false);
  });

  test("is false for a connection that an earlier process published as stale", async () => {
    const { connections, open } = openRegistry();
    await open({ stale: { since: 0, reason: "VaultUnreachable" } });
    expect(connections.isStarting(KEY)).toBe(false);
  });
});

describe("ConnectionRegistry.open", () => {
  test("keeps a connection with the same fingerprint, and closes it first otherwise", async () => {
    const { opened, open, connections } = openRegistry();
    await open();
    await open();
    expect(opened).toHaveLength(1);
    const second = await open({ fingerprint: "2" });
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
    expect(connections.client(KEY)).toBe(second);
    expect([...connections.keys()]).toHaveLength(1);
  });

  test("opens a connection that could not be opened before", async () => {
    const { connections, open } = openRegistry();
    await connections.markInvalid(KEY, { reason: "InvalidSpec", message: "no" });
    const connection = await open();
    expect(connections.client(KEY)).toBe(connection);
  });

  test("notifies all resources when it opens or closes a connection", async () => {
    const { connections, open, takeCalls } = openRegistry();
    await open();
    expect(takeCalls()).toEqual(["state"]);
    await connections.close(KEY);
    expect(takeCalls()).toEqual(["state"]);
  });

  test("closing notifies all resources, also when there is no open connection", async () => {
    let exists = true;
    const { connections, open, takeCalls } = openRegistry(() => exists);
    await open();
    // Deleted in the foreground: one event sets the deletion timestamp, another one removes the
    // object.
    await connections.close(KEY);
    takeCalls();
    exists = false;
    await connections.close(KEY);
    expect(takeCalls()).toEqual(["state"]);
    expect(connections.get(KEY)).toEqual({ state: "absent" });
  });

  test("ignores a closed connection and disposes its timer", async () => {
    const { clock, connections, open, takeCalls } = openRegistry();
    const connection = await open();
    await connections.close(KEY);
    takeCalls();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("x"));
    await clock.advance(10 * INTERVAL);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("disposing the registry closes all connections without a notification", async () => {
    const { clock, connections, open, takeCalls } = openRegistry();
    const connection = await open();
    takeCalls();
    await connections[Symbol.asyncDispose]();
    expect(connection.closed).toBe(true);
    expect([...connections.keys()]).toEqual([]);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("ConnectionRegistry after a list", () => {
  test("notifies all resources of the first list, and of later ones only by changed name", async () => {
    const { open, takeCalls } = openRegistry();
    const connection = await open();
    takeCalls();
    connection.list({ changed: ["db"] });
    expect(takeCalls().filter((call) => call === "state")).toHaveLength(1);
    connection.list({ changed: ["api"] });
    expect(takeCalls()).toEqual(["changed api", "status"]);
    connection.list();
    expect(takeCalls()).toEqual([]);
  });

  test("notifies all resources when files are included in the list or no longer", async () => {
    const { open, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.list({ changed: ["db"], fileCount: 2 });
    expect(takeCalls()).toEqual(["state", "status"]);
    connection.list({ changed: ["db"], fileCount: 3 });
    expect(takeCalls()).toEqual(["changed db", "status"]);
    connection.list({ changed: ["db"] });
    expect(takeCalls()).toEqual(["state", "status"]);
  });

  test("notifies all resources of a failure only before the first list", async () => {
    const { open, takeCalls } = openRegistry();
    const connection = await open();
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["state", "status"]);
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["status"]);
    connection.setHealth("failing", new Error("timeout"));
    expect(takeCalls()).toEqual(["status"]);
  });

  test("notifies all resources when a failing connection is healthy again, also if never stale", async () => {
    const { open, takeCalls } = openRegistry();
    const connection = await open({ intervalMs: 60 * INTERVAL });
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("credentials rejected"));
    takeCalls();
    connection.list();
    expect(takeCalls()).toEqual(["state", "status"]);
  });

  test("notifies the status when the token was renewed and nothing else changed", async () => {
    const { clock, open, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.changeToken({ expiresAt: clock.now(), refreshedAt: clock.now(), scope: undefined });
    expect(takeCalls()).toEqual(["status"]);
  });
});

describe("ConnectionRegistry staleness", () => {
  test("starts after three intervals without a response, and notifies all resources once", async () => {
    const { clock, open, staleSince, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    const heard = clock.now();
    takeCalls();
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBe(heard);
    expect(takeCalls()).toEqual(["state", "status"]);
    await clock.advance(100 * INTERVAL);
    expect(takeCalls()).toEqual([]);
  });

  test("is measured from the opening if the vault never responded", async () => {
    const { clock, open, staleSince } = openRegistry();
    const opened = clock.now();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBe(opened);
  });

  test("does not start while lists arrive, and uses a single timer", async () => {
    const { clock, open, staleSince, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(INTERVAL);
      connection.list();
      expect(staleSince()).toBeUndefined();
      expect(clock.pending).toBe(1);
    }
    // The third list without the name proves that it is deleted.
    expect(takeCalls()).toEqual(["proven db"]);
  });

  test("starts three intervals after the last list, not after the timer was set", async () => {
    const { clock, open, staleSince } = openRegistry();
    const connection = await open();
    await clock.advance(2 * INTERVAL);
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends when the vault responds again, and can start again", async () => {
    const { clock, open, staleSince, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("connection refused"));
    await clock.advance(4 * INTERVAL);
    expect(staleSince()).toBeDefined();
    connection.list();
    expect(staleSince()).toBeDefined();
    takeCalls();
    await clock.advance(INTERVAL - 1);
    connection.list();
    await clock.advance(1);
    expect(staleSince()).toBeUndefined();
    expect(takeCalls()).toEqual(["proven db", "state", "status"]);
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("does not end with one list in an outage", async () => {
    const { clock, open, staleSince, takeCalls } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("connection refused"));
    await clock.advance(4 * INTERVAL);
    connection.list();
    connection.setHealth("failing", new Error("connection refused"));
    const since = staleSince();
    takeCalls();
    await clock.advance(2 * INTERVAL);
    connection.list();
    expect(staleSince()).toBeDefined();
    await clock.advance(INTERVAL);
    expect(since !== undefined).toBe(true);
    expect(staleSince() !== undefined).toBe(true);
  });

  test("does not start within 30 s, however short the interval", async () => {
    const { clock, open, staleSince } = openRegistry();
    const connection = await open({ intervalMs: 5_000 });
    for (let outage = 0; outage < 5; outage += 1) {
      connection.list({ changed: ["db"] });
      connection.setHealth("failing", new Error("connection refused"));
      await clock.advance(29_999);
      expect(staleSince()).toBeUndefined();
    }
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends if no request failed, as after a slow list or a suspended process", async () => {
    const { clock, open, staleSince } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL + 1);
    expect(staleSince()).toBeDefined();
    for (let count = 0; count < 2; count += 1) {
      connection.list();
      await clock.advance(INTERVAL);
    }
    expect(staleSince()).toBeUndefined();
  });

  test("is measured with the monotonic clock", async () => {
    const { clock, open, staleSince } = openRegistry();
    const connection = await open();
    connection.list({ changed: ["db"] });
    clock.stepWall(86_400_000);
    await clock.advance(INTERVAL);
    expect(staleSince()).toBeUndefined();
    clock.stepWall(-2 * 86_400_000);
    await clock.advance(2 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("of a replaced connection does not affect the new one", async () => {
    const { clock, open, staleSince } = openRegistry();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
    await open({ fingerprint: "2" });
    expect(staleSince()).toBeUndefined();
  });
});
