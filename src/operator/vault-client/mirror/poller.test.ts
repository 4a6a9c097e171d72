import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { AuthError, RateLimitedError, TransientError, UnexpectedResponse } from "../vault-error.ts";
import { Poller } from "./poller.ts";

type Result = Error | number | undefined;

/** Starts a poller whose polls return these results, the last one repeatedly. `at` contains the start of each poll. */
function pollerOf(...results: Result[]): { poller: Poller; clock: VirtualClock; at: number[] } {
  const clock = new VirtualClock();
  const at: number[] = [];
  const poll = async (): Promise<number | undefined> => {
    at.push(clock.monotonic());
    const result = results.length > 1 ? results.shift() : results[0];
    if (result instanceof Error) throw result;
    return result;
  };
  const poller = new Poller({ clock, random: () => 0.5, intervalMs: 60_000, poll });
  onTestFinished(() => poller[Symbol.asyncDispose]());
  poller.soon();
  return { poller, clock, at };
}

const broken = new TransientError("list_no_dup", "reset");

test("polls once per interval, measured from start to start", async () => {
  const clock = new VirtualClock();
  const at: number[] = [];
  const poll = async (): Promise<undefined> => {
    at.push(clock.monotonic());
    await clock.sleep(2_000);
  };
  await using poller = new Poller({ clock, random: () => 0.5, intervalMs: 60_000, poll });
  poller.soon();
  await clock.advance(185_000);
  expect(at).toEqual([0, 60_000, 120_000, 180_000]);
  await clock.advance(2_000);
});

test("polls before the interval ends when a change is known, never later", async () => {
  const { clock, at } = pollerOf(5_000, 90_000);
  await clock.advance(65_000);
  expect(at).toEqual([0, 5_000, 65_000]);
});

test("soon() polls immediately and restarts the interval", async () => {
  const { poller, clock, at } = pollerOf(undefined);
  await clock.advance(10_000);
  poller.soon();
  await clock.advance(60_000);
  expect(at).toEqual([0, 10_000, 70_000]);
});

test("failures increase the delay and a success resets it", async () => {
  const { clock, at } = pollerOf(
    broken,
    new UnexpectedResponse("list_no_dup", "secrets"),
    new Error("x"),
    undefined,
    broken,
    undefined,
  );
  await clock.advance(66_000);
  expect(at).toEqual([0, 750, 2_250, 5_250, 65_250, 66_000]);
});

test.each<[Error, number]>([
  [new RateLimitedError("list_no_dup", 600_000), 600_000],
  [new AuthError("generate_access_token", "credentials", 300_000), 300_000],
  [new TransientError("list_no_dup", "server_error", { status: 503, retryAfterMs: 20_000 }), 20_000],
  [new TransientError("list_no_dup", "server_error", { status: 503, retryAfterMs: 100 }), 750],
])("waits after %s for %d ms", async (failure, wait) => {
  const { clock } = pollerOf(failure);
  await clock.advance(0);
  expect(clock.nextIn).toBe(wait);
});

test("a poll rejected by the circuit breaker does not increase the backoff", async () => {
  const open = new TransientError("list_no_dup", "circuit_open", { retryAfterMs: 100 });
  const { clock, at } = pollerOf(broken, open, open, open, broken, undefined);
  await clock.advance(10_000);
  expect(at).toEqual([0, 750, 850, 950, 1_050, 2_550]);
});

test("a disposed poller never polls again, even after soon()", async () => {
  const { poller, clock, at } = pollerOf(undefined);
  await clock.advance(1_000);
  await poller[Symbol.asyncDispose]();
  poller.soon();
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  expect(at).toEqual([0]);
});
