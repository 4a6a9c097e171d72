import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { InMemoryConnection } from "../../../../test/lab/vault/in-memory-connection.ts";
import { ignoredCallbacks } from "../../../../test/lab/vault/open-connection.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import { TransientError } from "../../vault-client/vault-error.ts";
import { FRESH_LIST_MS, FreshLists, type FreshListState } from "./fresh-lists.ts";

const KEY = "VaultSecret/shop/db";
const DOWN = new TransientError("list_no_dup", "reset");

/** A connection whose lists end when the test says so. */
class SlowConnection extends InMemoryConnection {
  readonly lists: {
    readonly kind: EntryKind;
    readonly signal: AbortSignal;
    readonly end: (error?: Error) => void;
  }[] = [];

  override listAgain(kind: EntryKind, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.lists.push({
      kind,
      signal,
      end: (error) => (error === undefined ? resolve() : reject(error)),
    });
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    return promise;
  }
}

function setUp() {
  const clock = new VirtualClock();
  const requeued: string[] = [];
  const lists = new FreshLists(clock, (key) => void requeued.push(key));
  const connection = new SlowConnection(clock, ignoredCallbacks);
  const request = (id = "now"): FreshListState => lists.request(KEY, id, connection, ["secret"]);
  /** Ends the last list of the connection. */
  const end = async (error?: Error): Promise<void> => {
    connection.lists.at(-1)?.end(error);
    await clock.advance(0);
  };
  return { clock, requeued, lists, connection, request, end };
}

describe("FreshLists", () => {
  test("requests a list once, and requeues the resource when it succeeds", async () => {
    const { clock, requeued, connection, request, end } = setUp();
    expect(request()).toBe("requested");
    expect(request()).toBe("requested");
    expect(connection.lists.length).toBe(1);
    expect(requeued).toEqual([]);
    await end();
    expect(requeued).toEqual([KEY]);
    expect(clock.pending).toBe(0);
    expect(request()).toBe("listed");
    expect(connection.lists).toHaveLength(1);
  });

  test("waits for a list of each kind", async () => {
    const { clock, lists, connection, requeued } = setUp();
    expect(lists.request(KEY, "now", connection, ["secret", "file"])).toBe("requested");
    expect(connection.lists.map(({ kind }) => kind)).toEqual(["secret", "file"]);
    connection.lists[0]?.end();
    await clock.advance(0);
    expect(requeued).toEqual([]);
    connection.lists[1]?.end(DOWN);
    await clock.advance(0);
    expect(requeued).toEqual([KEY]);
    expect(lists.failure(KEY, connection)).toEqual(DOWN);
  });

  test("reports the first failure until a list succeeds, and tries again after each", async () => {
    const { requeued, lists, connection, request, end } = setUp();
    request();
    await end(DOWN);
    expect(request()).toEqual(DOWN);
    expect(lists.failure(KEY, connection)).toEqual(DOWN);
    expect(connection.lists.length).toBe(2);
    lists.reported(KEY);
    await end(new TransientError("list_no_dup", "circuit_open"));
    expect(lists.failure(KEY, connection)).toEqual(DOWN);
    expect(requeued.length).toBe(2);
    expect(connection.lists.length).toBe(3);
    await end();
    expect(lists.failure(KEY, connection)).toBeUndefined();
    expect(requeued.length).toBe(3);
    expect(connection.lists.length).toBe(3);
  });

  test("reports the failure of the connection if the list was not sent because of it", async () => {
    const { connection, request, end } = setUp();
    connection.setHealth("failing", DOWN);
    request();
    await end(new TransientError("list_no_dup", "circuit_open"));
    expect(request()).toBe(DOWN);
  });

  test("reports a list that takes longer than 10 s as failed, and follows it until its end", async () => {
    const { clock, requeued, connection, request, end } = setUp();
    request();
    await clock.advance(FRESH_LIST_MS - 1);
    expect(request()).toBe("requested");
    await clock.advance(1);
    expect(request()).toMatchObject({ code: "timeout" });
    await end();
    expect(request()).toBe("listed");
    expect(requeued.length).toBe(2);
    expect(connection.lists.length).toBe(1);
  });

  test("requests another list for another request, and for another connection", async () => {
    const { clock, lists, connection, request, end } = setUp();
    request();
    await end();
    expect(request("again")).toBe("requested");
    expect(connection.lists.length).toBe(2);
    expect(
      lists.request(KEY, "again", new SlowConnection(clock, ignoredCallbacks), ["secret"]),
    ).toBe("requested");
    await clock.advance(0);
    expect(connection.lists.at(-1)?.signal.aborted).toBe(true);
    expect(clock.pending).toBe(1);
  });

  test("forgets a failure when the resource uses another connection", async () => {
    const { clock, lists, request, end, connection } = setUp();
    request();
    await end(DOWN);
    expect(lists.failure(KEY, new SlowConnection(clock, ignoredCallbacks))).toBeUndefined();
    expect(lists.failure(KEY, connection)).toBeUndefined();
  });

  test("requests another list after the success of the last one was reported", async () => {
    const { lists, connection, request, end } = setUp();
    request();
    lists.reported(KEY);
    expect(request()).toBe("requested");
    expect(connection.lists.length).toBe(1);
    await end();
    lists.reported(KEY);
    expect(request()).toBe("requested");
    expect(connection.lists.length).toBe(2);
  });

  test("does not requeue a forgotten resource", async () => {
    const { clock, requeued, lists, connection, request } = setUp();
    request();
    lists.forget(KEY);
    await clock.advance(FRESH_LIST_MS);
    expect(requeued).toEqual([]);
    expect(connection.lists[0]?.signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });
});
