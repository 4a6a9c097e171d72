import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { AuthError, RateLimitedError, TransientError, UnexpectedResponse } from "../vault-error.ts";

const broken = new TransientError("expose", "reset");
const rejected = new AuthError("expose", "token");

class World {
  readonly clock = new VirtualClock();
  readonly changes: boolean[] = [];
  readonly breaker = new CircuitBreaker(
    this.clock,
    () => 0.5,
    (open) => this.changes.push(open),
  );
  sent = 0;

  async fail(error: unknown, times = 1): Promise<void> {
    for (let time = 0; time < times; time += 1) await failureOf(this.run(() => Promise.reject(error)));
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.breaker.run("expose", () => {
      this.sent += 1;
      return work();
    });
  }
}

test("opens after five transient failures in a row and then sends no request", async () => {
  const world = new World();
  await world.fail(broken, 4);
  expect(world.changes).toEqual([]);
  await world.fail(broken, 10);
  expect([world.changes, world.sent]).toEqual([[true], 5]);
  expect(await failureOf(world.run(() => Promise.resolve()))).toMatchObject({ code: "circuit_open", retryAfterMs: 750 });
});

test.each<[string, unknown]>([
  ["a success", undefined],
  ["an auth error", rejected],
  ["an unreadable response", new UnexpectedResponse("expose", "key_value")],
])("%s between failures resets the count", async (_, between) => {
  const world = new World();
  await world.fail(broken, 4);
  if (between) await world.fail(between);
  else await world.run(() => Promise.resolve());
  await world.fail(broken, 4);
  expect(world.changes).toEqual([]);
});

test("admits one probe at a time after 1 s, 2 s, 4 s … with jitter", async () => {
  const world = new World();
  await world.fail(broken, 5);
  const waits: number[] = [];
  for (let probe = 0; probe < 4; probe += 1) {
    const failure = await failureOf(world.run(() => Promise.resolve()));
    const wait = failure instanceof TransientError ? (failure.retryAfterMs ?? 0) : 0;
    waits.push(wait);
    await world.clock.advance(wait);
    await Promise.all([world.fail(broken), world.fail(broken), world.fail(broken)]);
  }
  expect(waits).toEqual([750, 1_500, 3_000, 6_000]);
  expect([world.sent, world.changes]).toEqual([9, [true]]);
});

test("a response to the probe closes it, even an auth error", async () => {
  const world = new World();
  await world.fail(broken, 5);
  await world.clock.advance(750);
  await world.fail(rejected);
  expect(world.changes).toEqual([true, false]);
  await world.fail(broken, 4);
  expect(world.changes).toEqual([true, false]);
});

test("after an aborted probe the next request probes", async () => {
  const world = new World();
  await world.fail(broken, 5);
  await world.clock.advance(750);
  await world.fail(new DOMException("aborted", "AbortError"));
  await world.run(() => Promise.resolve());
  expect(world.changes).toEqual([true, false]);
});

test("after a 429 sends no request until its time, even if an earlier one succeeds late", async () => {
  const world = new World();
  const late = Promise.withResolvers<void>();
  const slow = world.run(() => late.promise);
  await world.fail(new RateLimitedError("expose", 5_000));
  late.resolve();
  await slow;
  await world.clock.advance(4_000);
  expect(await failureOf(world.run(() => Promise.resolve()))).toMatchObject({ kind: "rate-limited", retryAfterMs: 1_000 });
  await world.clock.advance(1_000);
  await world.run(() => Promise.resolve());
  expect([world.sent, world.changes]).toEqual([3, []]);
});
