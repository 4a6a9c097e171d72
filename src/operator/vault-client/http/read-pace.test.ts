import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { RateLimitedError } from "../vault-error.ts";
import { ReadPace } from "./read-pace.ts";

const { signal } = new AbortController();
const READ_MS = 20;
const throttled = (ms: number) => (): Promise<never> => Promise.reject(new RateLimitedError("expose", ms));

/** A vault that admits `perSecond` reads, and rejects others with 429 until the next second. */
class ThrottlingVault {
  readonly #clock = new VirtualClock();
  readonly #pace = new ReadPace(this.#clock);
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
      await this.#pace.run(() => this.#respond(), signal);
      end = this.#clock.monotonic();
    };
    const all = Promise.all(Array.from({ length: count }, one));
    await this.#clock.advance(1_000_000);
    await all;
    return (end - start) / 1_000;
  }

  async #respond(): Promise<void> {
    const now = this.#clock.monotonic();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) [this.#second, this.#left] = [second, this.#perSecond];
    this.#left -= 1;
    if (this.#left < 0) {
      this.rejected += 1;
      throw new RateLimitedError("expose", (second + 1) * 1_000 - now);
    }
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    await this.#clock.sleep(READ_MS, signal);
    this.inFlight -= 1;
  }
}

test("reads are sent eight at a time, however many wait", async () => {
  const vault = new ThrottlingVault(Infinity);
  expect(await vault.read(1_000)).toBe((1_000 / 8) * (READ_MS / 1_000));
  expect(vault.mostInFlight).toBe(8);
});

test("reads take as long as the vault's limit requires, and few are rejected", async () => {
  const vault = new ThrottlingVault(50);
  expect(await vault.read(1_000)).toBeLessThan(1_000 / 50 + 1);
  expect(vault.rejected).toBeLessThan(100);
});

test("a read that the vault throttles for longer than five seconds fails", async () => {
  const clock = new VirtualClock();
  const pace = new ReadPace(clock);
  expect(await failureOf(pace.run(throttled(5_001), signal))).toMatchObject({ kind: "rate-limited", retryAfterMs: 5_001 });
  const failed = failureOf(pace.run(throttled(2_000), signal));
  await clock.advance(4_000);
  expect(await failed).toMatchObject({ kind: "rate-limited" });
});

test("an aborted read that waits for the vault rejects with the reason of its signal", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const failed = failureOf(new ReadPace(clock).run(() => Promise.reject(new RateLimitedError("expose", 1_000)), abort.signal));
  await clock.advance(0);
  abort.abort(new Error("aborted"));
  expect(await failed).toMatchObject({ message: "aborted" });
  expect(clock.pending).toBe(0);
});
