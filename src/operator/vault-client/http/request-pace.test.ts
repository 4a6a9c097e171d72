import { describe, expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { RateLimitedError } from "../vault-error.ts";
import { RequestPace } from "./request-pace.ts";

const { signal } = new AbortController();
const READ_MS = 20;
const limited = (ms: number): RateLimitedError => new RateLimitedError("expose", ms);
const throttled = (ms: number) => (): Promise<never> => Promise.reject(limited(ms));

/** Returns when each of so many requests is admitted, in milliseconds from now. */
async function admissions(
  pace: RequestPace,
  clock: VirtualClock,
  requests: number,
): Promise<number[]> {
  const start = clock.monotonic();
  const admitted: number[] = [];
  const all = Array.from({ length: requests }, () =>
    pace.take(signal).then(() => admitted.push(clock.monotonic() - start)),
  );
  await clock.advance(60_000);
  await Promise.all(all);
  return admitted;
}

describe("the rate", () => {
  test("admits a burst of twice itself immediately and the rest in order", async () => {
    const clock = new VirtualClock();
    expect(await admissions(new RequestPace(2, clock), clock, 7)).toEqual([
      0, 0, 0, 0, 500, 1_000, 1_500,
    ]);
  });

  test("fills up to one burst in an idle time", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(2, clock);
    await admissions(pace, clock, 4);
    await clock.advance(3_600_000);
    expect(await admissions(pace, clock, 5)).toEqual([0, 0, 0, 0, 500]);
  });

  test("is halved by a 429, which ends the burst, and restored by successes", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(2, clock);
    pace.throttled(limited(1_000));
    expect(await admissions(pace, clock, 2)).toEqual([1_000, 2_000]);
    for (let success = 0; success < 25; success += 1) pace.succeeded();
    await clock.advance(60_000);
    expect(await admissions(pace, clock, 6)).toEqual([0, 0, 0, 0, 500, 1_000]);
  });

  test("never falls below an eighth", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(2, clock);
    for (let times = 0; times < 50; times += 1) pace.throttled(limited(1_000));
    expect(await admissions(pace, clock, 1)).toEqual([4_000]);
  });

  test("without a limit delays nothing, also after a 429", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(Infinity, clock);
    pace.throttled(limited(1_000));
    pace.succeeded();
    expect(await admissions(pace, clock, 3)).toEqual([0, 0, 0]);
    await expect(pace.take(AbortSignal.abort(new Error("aborted")))).rejects.toThrow("aborted");
  });

  test("rejects an aborted waiter with the reason of its signal", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(0.25, clock);
    const abort = new AbortController();
    const failure = failureOf(pace.take(abort.signal));
    abort.abort(new Error("aborted"));
    expect(await failure).toMatchObject({ message: "aborted" });
    expect(clock.pending).toBe(0);
  });
});

test("after a 429 no request is admitted before the longest time that the vault has named", async () => {
  const clock = new VirtualClock();
  const pace = new RequestPace(Infinity, clock);
  pace.throttled(limited(5_000));
  pace.throttled(limited(1_000));
  // A late response to an earlier request does not end the wait.
  pace.succeeded();
  await clock.advance(4_000);
  expect(() => pace.admit("list_no_dup")).toThrow(new RateLimitedError("list_no_dup", 1_000));
  await clock.advance(1_000);
  expect(() => pace.admit("list_no_dup")).not.toThrow();
});

/** A vault that admits `perSecond` reads, and rejects others with 429 until the next second. */
class ThrottlingVault {
  readonly #clock = new VirtualClock();
  readonly #pace = new RequestPace(Infinity, this.#clock);
  readonly #perSecond: number;
  inFlight = 0;
  mostInFlight = 0;
  rejected = 0;
  #second = -1;
  #left = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Returns the seconds that so many reads take together. */
  async read(count: number): Promise<number> {
    const start = this.#clock.monotonic();
    let end = start;
    const one = async (): Promise<void> => {
      await this.#pace.read(() => this.#send(), signal);
      end = this.#clock.monotonic();
    };
    const all = Promise.all(Array.from({ length: count }, one));
    await this.#clock.advance(1_000_000);
    await all;
    return (end - start) / 1_000;
  }

  /** Sends a read as the client does. */
  async #send(): Promise<void> {
    this.#pace.admit("expose");
    const now = this.#clock.monotonic();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) [this.#second, this.#left] = [second, this.#perSecond];
    this.#left -= 1;
    if (this.#left < 0) {
      this.rejected += 1;
      const error = limited((second + 1) * 1_000 - now);
      this.#pace.throttled(error);
      throw error;
    }
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    await this.#clock.sleep(READ_MS, signal);
    this.inFlight -= 1;
    this.#pace.succeeded();
  }
}

describe("reads", () => {
  test("are sent eight at a time, however many wait", async () => {
    const vault = new ThrottlingVault(Infinity);
    expect(await vault.read(1_000)).toBe((1_000 / 8) * (READ_MS / 1_000));
    expect(vault.mostInFlight).toBe(8);
  });

  test("take as long as the vault's limit requires, and few are rejected", async () => {
    const vault = new ThrottlingVault(50);
    expect(await vault.read(1_000)).toBeLessThan(1_000 / 50 + 1);
    expect(vault.rejected).toBeLessThan(100);
  });

  test("fail when the vault throttles them for longer than five seconds", async () => {
    const clock = new VirtualClock();
    const pace = new RequestPace(Infinity, clock);
    expect(await failureOf(pace.read(throttled(5_001), signal))).toMatchObject({
      kind: "rate-limited",
      retryAfterMs: 5_001,
    });
    const failed = failureOf(pace.read(throttled(2_000), signal));
    await clock.advance(4_000);
    expect(await failed).toMatchObject({ kind: "rate-limited" });
  });

  test("reject with the reason of their signal when it is aborted", async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const failed = failureOf(new RequestPace(Infinity, clock).read(throttled(1_000), abort.signal));
    await clock.advance(0);
    abort.abort(new Error("aborted"));
    expect(await failed).toMatchObject({ message: "aborted" });
    expect(clock.pending).toBe(0);
  });
});
