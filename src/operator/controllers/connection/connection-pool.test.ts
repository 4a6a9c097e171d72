import { describe, expect, test } from "vitest";
import { InMemoryConnection } from "../../../../test/support/vault/in-memory-connection.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { ConnectionPool } from "./connection-pool.ts";

const KEY = "shop/vault";
const INTERVAL = 60_000;
const wanted = { fingerprint: "1", account: "ops@example.com", intervalMs: INTERVAL };

function setUp(exists = true) {
  const clock = new VirtualClock();
  const told: string[] = [];
  const connections = new ConnectionPool(clock, () => exists, {
    onSnapshotChange: (_, { secrets }) => void told.push(`changed ${[...secrets].join()}`),
    onConnectionStateChange: () => void told.push("turned"),
    onConnectionStatusChange: () => void told.push("news"),
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
  /** What was told since the last time it was asked. */
  const news = (): string[] => told.splice(0);
  return { clock, connections, opened, open, staleSince, news };
}

describe("where resources find their connection", () => {
  test("nowhere, where there is none of the name; soon, where it is not opened yet", () => {
    expect(setUp(false).connections.get(KEY)).toBeUndefined();
    expect(setUp(true).connections.get(KEY)).toBe("opening");
  });

  test("with the account and the interval, once it is open", async () => {
    const { connections, open } = setUp();
    const connection = await open();
    expect(connections.get(KEY)).toEqual({ connection, account: "ops@example.com", intervalMs: INTERVAL, staleSince: undefined });
    expect(connections.connection(KEY)).toBe(connection);
  });

  test("with the reason, where it can't be opened", async () => {
    const { connections, open } = setUp();
    const connection = await open();
    await connections.setNotReady(KEY, "spec.url: no");
    expect(connections.get(KEY)).toEqual({ notReady: "spec.url: no" });
    expect(connections.connection(KEY)).toBeUndefined();
    expect(connection.closed).toBe(true);
  });
});

describe("opening", () => {
  test("the same again changes nothing; another spec closes the old connection first", async () => {
    const { opened, open, connections } = setUp();
    await open();
    await open();
    expect(opened).toHaveLength(1);
    const second = await open({ fingerprint: "2" });
    expect(opened.map(({ closed }) => closed)).toEqual([true, false]);
    expect(connections.connection(KEY)).toBe(second);
    expect(connections.size).toBe(1);
  });

  test("after a refusal is possible", async () => {
    const { connections, open } = setUp();
    await connections.setNotReady(KEY, "no");
    const connection = await open();
    expect(connections.connection(KEY)).toBe(connection);
  });

  test("and closing tell every resource", async () => {
    const { connections, open, news } = setUp();
    await open();
    expect(news()).toEqual(["turned"]);
    await connections.close(KEY);
    expect(news()).toEqual(["turned"]);
    await connections.close(KEY);
    expect(news()).toEqual([]);
  });

  test("a closed connection is not heard any more, and holds no timer", async () => {
    const { clock, connections, open, news } = setUp();
    const connection = await open();
    await connections.close(KEY);
    news();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("x"));
    await clock.advance(10 * INTERVAL);
    expect(news()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("disposing closes all of them, and tells nobody", async () => {
    const { clock, connections, open, news } = setUp();
    const connection = await open();
    news();
    await connections[Symbol.asyncDispose]();
    expect(connection.closed).toBe(true);
    expect(connections.size).toBe(0);
    expect(news()).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe("lists", () => {
  test("the first concerns every resource, also those whose names it lacks; later ones the names that differ", async () => {
    const { open, news } = setUp();
    const connection = await open();
    news();
    connection.list({ changed: ["db"] });
    expect(news()).toContain("turned");
    connection.list({ changed: ["api"] });
    expect(news()).toEqual(["changed api", "news"]);
    connection.list();
    expect(news()).toEqual([]);
  });

  test("the first with files concerns every resource again, and so does the first without them", async () => {
    const { open, news } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    news();
    connection.list({ changed: ["db"], fileCount: 2 });
    expect(news()).toEqual(["turned", "news"]);
    connection.list({ changed: ["db"], fileCount: 3 });
    expect(news()).toEqual(["changed db", "news"]);
    connection.list({ changed: ["db"] });
    expect(news()).toEqual(["turned", "news"]);
  });

  test("a vault that fails before it ever listed concerns every resource; afterwards their targets just stay", async () => {
    const { open, news } = setUp();
    const connection = await open();
    news();
    connection.setHealth("failing", new Error("refused"));
    expect(news()).toEqual(["turned", "news"]);
    connection.list({ changed: ["db"] });
    news();
    connection.setHealth("failing", new Error("refused"));
    expect(news()).toEqual(["news"]);
  });
});

describe("staleness", () => {
  test("begins when nothing was heard for three intervals, and tells every resource once", async () => {
    const { clock, open, staleSince, news } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    const heard = clock.now();
    news();
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBe(heard);
    expect(news()).toEqual(["turned", "news"]);
    await clock.advance(100 * INTERVAL);
    expect(news()).toEqual([]);
  });

  test("counts from the opening where nothing was ever heard", async () => {
    const { clock, open, staleSince } = setUp();
    const opened = clock.now();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBe(opened);
  });

  test("never begins while lists come, changed or not, and one timer is all it costs", async () => {
    const { clock, open, staleSince, news } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    news();
    for (let count = 0; count < 20; count += 1) {
      await clock.advance(INTERVAL);
      connection.list();
      expect(staleSince()).toBeUndefined();
      expect(clock.pending).toBe(1);
    }
    expect(news()).toEqual([]);
  });

  test("begins three intervals after the last list, not after the timer was set", async () => {
    const { clock, open, staleSince } = setUp();
    const connection = await open();
    await clock.advance(2 * INTERVAL);
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL - 1);
    expect(staleSince()).toBeUndefined();
    await clock.advance(1);
    expect(staleSince()).toBeDefined();
  });

  test("ends when a vault that failed is heard of again, and can begin again", async () => {
    const { clock, open, staleSince, news } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    connection.setHealth("failing", new Error("refused"));
    await clock.advance(4 * INTERVAL);
    expect(staleSince()).toBeDefined();
    news();
    connection.list();
    expect(staleSince()).toBeUndefined();
    expect(news()).toEqual(["turned", "news"]);
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
  });

  test("ends also when no call ever failed: a list that took long, or a process that was suspended", async () => {
    const { clock, open, staleSince } = setUp();
    const connection = await open();
    connection.list({ changed: ["db"] });
    await clock.advance(3 * INTERVAL + 1);
    expect(staleSince()).toBeDefined();
    connection.list();
    await clock.advance(INTERVAL);
    expect(staleSince()).toBeUndefined();
  });

  test("is counted on the monotonic clock: a wall clock that jumps changes nothing", async () => {
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

  test("of the connection before is not that of the one opened in its place", async () => {
    const { clock, open, staleSince } = setUp();
    await open();
    await clock.advance(3 * INTERVAL);
    expect(staleSince()).toBeDefined();
    await open({ fingerprint: "2" });
    expect(staleSince()).toBeUndefined();
  });
});
