import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { testFacts } from "../../../../test/lab/vault/open-connection.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import { InvalidConnection, type InvalidConnectionOptions } from "./invalid-connection.ts";

const INTERVAL = 60_000;
const REASON = "InvalidSpec";

/** Makes invalid connections on one clock, and counts how often one became stale. */
function scene() {
  const clock = new VirtualClock();
  const counted = { stale: 0 };
  /** A connection that was open, and listed now. */
  const listed = (stale?: InvalidConnection["stale"]) => ({
    connection: {
      snapshot: { listedAt: clock.now(), listedAtMonotonic: clock.monotonic() } as Snapshot,
      health: { state: "healthy" as const, error: undefined },
    },
    facts: testFacts,
    openedAt: 0,
    openedAtMonotonic: 0,
    intervalMs: INTERVAL,
    stale,
  });
  const invalid = (options: Partial<InvalidConnectionOptions> = {}): InvalidConnection =>
    new InvalidConnection({
      clock,
      message: "spec.url: no",
      reason: REASON,
      before: undefined,
      published: undefined,
      onStale: () => void (counted.stale += 1),
      ...options,
    });
  return { clock, counted, listed, invalid };
}

describe("an invalid connection becomes stale once", () => {
  test("three minutes after it was found, if this process never opened it", async () => {
    const { clock, counted, invalid } = scene();
    const since = clock.now();
    const connection = invalid();
    await clock.advance(3 * 60_000 - 1);
    expect(connection.stale).toBeUndefined();
    await clock.advance(1);
    expect(connection.stale).toEqual({ since, reason: REASON });
    await clock.advance(60 * INTERVAL);
    expect(counted.stale).toBe(1);
  });

  test("three intervals after the last list, if it was open", async () => {
    const { clock, listed, invalid } = scene();
    const since = clock.now();
    const before = listed();
    await clock.advance(INTERVAL);
    const connection = invalid({ before });
    await clock.advance(2 * INTERVAL - 1);
    expect(connection.stale).toBeUndefined();
    await clock.advance(1);
    expect(connection.stale).toEqual({ since, reason: REASON });
  });

  test("immediately, if its last list is that old", async () => {
    const { clock, listed, invalid } = scene();
    const before = listed();
    await clock.advance(10 * INTERVAL);
    const connection = invalid({ before });
    await clock.advance(0);
    expect(connection.stale?.reason).toBe(REASON);
  });

  test("at the same time, whatever other problem it gets until then", async () => {
    const { clock, counted, invalid } = scene();
    const since = clock.now();
    const first = invalid();
    await clock.advance(INTERVAL);
    first[Symbol.dispose]();
    const second = invalid({ before: first, reason: "InvalidCaBundle" });
    await clock.advance(2 * INTERVAL - 1);
    expect(second.stale).toBeUndefined();
    await clock.advance(1);
    expect(second.stale).toEqual({ since, reason: "InvalidCaBundle" });
    expect(counted.stale).toBe(1);
  });
});

test("an invalid connection stays stale if it was, or if an earlier process published it", async () => {
  const { clock, counted, listed, invalid } = scene();
  const stale = { since: 7, reason: "VaultUnreachable" as const };
  const published = { since: 8, reason: "AuthFailed" as const };
  const after = invalid({ before: listed(stale), published });
  expect(after.stale).toBe(stale);
  expect(invalid({ before: after, published }).stale).toBe(stale);
  expect(invalid({ published }).stale).toBe(published);
  await clock.advance(60 * INTERVAL);
  expect(counted.stale).toBe(0);
  after[Symbol.dispose]();
});

test("an open connection that was not stale does not become it by what was published", () => {
  const { listed, invalid } = scene();
  const published = { since: 8, reason: "AuthFailed" as const };
  expect(invalid({ before: listed(), published }).stale).toBeUndefined();
});
