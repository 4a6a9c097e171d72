import { describe, expect, test } from "vitest";
import { InMemoryConnection } from "../../../../test/support/vault/in-memory-connection.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { ConnectionPool } from "./connection-pool.ts";

const KEY = "shop/vault";
const INTERVAL = 60_000;
const wanted = { fingerprint: "1", id: "1", vault: "vault", account: "ops@example.com", intervalMs: INTERVAL };

function setUp(exists = true) {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const connections = new ConnectionPool(clock, () => exists, {
    onSnapshotChange: (_, { secrets }) => void calls.push(`changed ${[...secrets].join()}`),
    onConnectionStateChange: () => void calls.push("state"),
    onConnectionStatusChange: () => void calls.push("status"),
  });
  const opened: InMemoryConnection[] = [];
  const open = async (changes: Partial<typeof wanted> = {}): Promise<InMemoryConnection> => {
    await connections.ensure(KEY, { ...wanted, ...changes }, (callbacks) => {
      const connection = new InMemoryConnection(clock, callbacks);
      opened.push(connection);
      return connection;
    });
    return opened.at(-1)!;
  };
  const staleSince = (): number | undefined => {
    const access = connections.get(KEY);
    return typeof access === "object" && "staleSince" in access ? access.staleSince : undefined;
  };
  /** Returns the listener calls since the last time. */
  const takeCalls = (): string[] => calls.splice(0);
  return { clock, connections, opened, open, staleSince, takeCalls };
}

describe("ConnectionPool.get", () => {
  test('returns undefined for an unknown key, and "opening" for one not yet opened', () => {
    expect(setUp(false).connections.get(KEY)).toBeUndefined();
    expect(setUp(true).connections.get(KEY)).toBe("opening");
  });

  test("returns vault, account and interval of an open connection", async () => {
    const { connections, open } = setUp();
    const connection = await open();
    expect(connections.get(KEY)).toEqual({
      connection,
      id: "1",
      vault: "vault",
      account: "ops@example.com",
      intervalMs: INTERVAL,
      staleSince: undefined,
    });
    expect(connections.connection(KEY)).toBe(connection);
  });

  test("returns the reason why a connection cannot be opened", async () => {
    const { connections, open } = setUp();
    const connection = await open();
    await connections.setNotReady(KEY, "spec.url: no");
    expect(connections.get(KEY)).toEqual({ notReady: "spec.url: no" });
    expect(connections.connection(KEY)).toBeUndefined();
    expect(connection.closed).toBe(true);
  });
});

describe("ConnectionPool.ensure", () => {
  test("keeps a connection with the same fingerprint, and closes it first otherwise", async () => {
    const { opened, open, connections } = setUp();
    await open();
    await open();
    expect(opened).toHaveLength(1);
    const second = await open({ fingerprint: "2" });
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
    expect(connections.connection(KEY)).toBe(second);
    expect(connections.size).toBe(1);
  });

  test("opens a connection that could not be opened before", async () => {
    const { connections, open } = setUp();
    await connections.setNotReady(KEY, "no");
    const connection = await open();
    expect(connections.connection(KEY)).toBe(connection);
  });

  test("notifies all resources when it opens or closes a connection", async () => {
    const { connections, open, takeCalls } = setUp();
    await open();
    expect(takeCalls()).toEqual(["state"]);
    await connections.close(KEY);
    expect(takeCalls()).toEqual(["state"]);
    await connections.close(KEY);
    expect(takeCalls()).toEqual([]);
  });

  test("ignores a closed connection and disposes its timer", async () => {
    const { clock, connections, open, takeCalls } = setUp();
    const connection = await open();
    await connections.close(KEY);
    takeCalls();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("x"));
    await clock.advance(10 * INTERVAL);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("disposing the pool closes all connections without a notification", async () => {
    const { clock, connections, open, takeCalls } = setUp();
    const connection = await open();
    takeCalls();
    await connections[Symbol.asyncDispose]();
    expect(connection.closed).toBe(true);
    expect(connections.size).toBe(0);
    expect(takeCalls()).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("ConnectionPool after a list", () => {
  test("notifies all resources of the first list, and of later ones only by changed name", async () => {
    const { open, takeCalls } = setUp();
    const connection = await open();
    takeCalls();
    connection.list({ changed: ["db"] });
    expect(takeCalls()).toContain("state");
    connection.list({ changed: ["api"] });
    expect(takeCalls()).toEqual(["changed api", "status"]);
    connection.list();
    expect(takeCalls()).toEqual([]);
  });

  test("notifies all resources when files are included in the list or no longer", async () => {
    const { open, takeCalls } = setUp();
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
    const { open, takeCalls } = setUp();
    const connection = await open();
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["state", "status"]);
    connection.list({ changed: ["db"] });
    takeCalls();
    connection.setHealth("failing", new Error("connection refused"));
    expect(takeCalls()).toEqual(["status"]);
  });
});

describe("ConnectionPool staleness", () => {
  test("starts after three intervals without a response, and notifies all resources once", async () => {
    const { clock, open, staleSince, takeCalls } = setUp();
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
    const { clock, open, staleSince } = setUp();
    const opened = clock.now();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBe(opened);
  });

  test("does not start while lists arrive, and uses a single timer", async () => {
    const { clock, open, staleSince, takeCalls } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    takeCalls();
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(INTERVAL);
      connection.list();
      expect(staleSince()).toBeUndefined();
      expect(clock.pending).toBe(1);
    }
    expect(takeCalls()).toEqual([]);
  });

  test("starts three intervals after the last list, not after the timer was set", async () => {
    const { clock, open, staleSince } = setUp();
    const connection = await open();
    await clock.advance(2 * INTERVAL);
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends when the vault responds again, and can start again", async () => {
    const { clock, open, staleSince, takeCalls } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("connection refused"));
    await clock.advance(4 * INTERVAL);
    expect(staleSince()).toBeDefined();
    takeCalls();
    connection.list();
    expect(staleSince()).toBeUndefined();
    expect(takeCalls()).toEqual(["state", "status"]);
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("ends if no request failed, as after a slow list or a suspended process", async () => {
    const { clock, open, staleSince } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL + 1);
    expect(staleSince()).toBeDefined();
    connection.list();
    await clock.advance(INTERVAL);
    expect(staleSince()).toBeUndefined();
  });

  test("is measured with the monotonic clock", async () => {
    const { clock, open, staleSince } = setUp();
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
    const { clock, open, staleSince } = setUp();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
    await open({ fingerprint: "2" });
    expect(staleSince()).toBeUndefined();
  });
});
