import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { Timer } from "../../../lib/clock.ts";
import { FairSlots, type FairSlotsOptions } from "./fair-slots.ts";

const CASES: readonly FairSlotsOptions[] = [
  { slots: 4, share: 2, busy: 2, busyMs: 100, fadingMs: 1_000 },
  { slots: 5, share: 3, busy: 3, busyMs: 50, fadingMs: 200 },
  { slots: 4, share: 2, busy: 3, busyMs: 50, fadingMs: 200 },
  { slots: 1, share: 1, busy: 1, busyMs: 0, fadingMs: 1 },
  { slots: 3, share: 3, busy: 1, busyMs: 5, fadingMs: 10_000 },
  { slots: 4, share: 4, busy: 0, busyMs: 50, fadingMs: 200 },
];

interface Work {
  readonly account: string;
  readonly login: string;
  readonly ms: number;
  /** Time after its arrival at which it is aborted, if it waits for longer. */
  readonly abortMs: number | undefined;
  readonly fails: boolean;
  /** Time until the next work arrives. */
  readonly pauseMs: number;
}

const works: fc.Arbitrary<Work[]> = fc.array(
  fc.record({
    account: fc.constantFrom("a", "b", "c", "d"),
    login: fc.constantFrom("x", "y"),
    ms: fc.oneof(
      fc.integer({ min: 0, max: 300 }),
      fc.constant(20_000),
      fc.double({ min: 0, max: 60, noNaN: true }),
    ),
    abortMs: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined, freq: 4 }),
    fails: fc.boolean(),
    pauseMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 })),
  }),
  { maxLength: 60 },
);

/** Time by which a timer may start work later than its account stops being busy, in milliseconds. */
const TIMER_MS = 3;

/** Work that runs, waits and has run, counted from outside. */
class Model {
  readonly violations: string[] = [];
  ended = 0;
  readonly #clock: VirtualClock;
  readonly #options: FairSlotsOptions;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, number>();
  readonly #used = new Map<string, { ms: number; at: number }>();

  constructor(clock: VirtualClock, options: FairSlotsOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Gives `slots` a work, and counts what becomes of it. */
  async run(slots: FairSlots, { account, login, ms, abortMs, fails }: Work): Promise<void> {
    const abort = new AbortController();
    if (abortMs !== undefined)
      this.#clock.timer(abortMs, () => abort.abort(new Error("not wanted")));
    this.#add(this.#waiting, account, 1);
    let isWaiting = true;
    const work = async (): Promise<void> => {
      const from = this.#clock.monotonic();
      isWaiting = false;
      this.#add(this.#waiting, account, -1);
      this.#add(this.#running, account, 1);
      this.#checkLimits();
      await this.#clock.sleep(ms);
      this.#add(this.#running, account, -1);
      const at = this.#clock.monotonic();
      this.#used.set(account, { ms: this.#usedLately(account) + at - from, at });
      if (fails) throw new Error("failed");
    };
    await slots.run({ account, login }, work, abort.signal).catch(() => undefined);
    if (isWaiting) this.#add(this.#waiting, account, -1);
    this.ended += 1;
  }

  /** Adds a violation for work that waits although a free slot is for its account. */
  checkNoIdleSlot(): void {
    const { slots, share, busy, busyMs, fadingMs } = this.#options;
    const free = slots - this.#runningInAll();
    if (free === 0) return;
    for (const [account, count] of this.#waiting) {
      if (count === 0 || (this.#running.get(account) ?? 0) === share) continue;
      const isCalm = this.#usedLately(account) * Math.exp(TIMER_MS / fadingMs) < busyMs;
      if (free > slots - busy || isCalm)
        this.violations.push(`${account} waits while ${free} slots are free`);
    }
  }

  #checkLimits(): void {
    if (this.#runningInAll() > this.#options.slots) this.violations.push("too many slots");
    for (const [account, count] of this.#running)
      if (count > this.#options.share) this.violations.push(`too many slots of ${account}`);
  }

  #runningInAll(): number {
    return [...this.#running.values()].reduce((sum, count) => sum + count, 0);
  }

  #usedLately(account: string): number {
    const { ms, at } = this.#used.get(account) ?? { ms: 0, at: 0 };
    return ms * Math.exp((at - this.#clock.monotonic()) / this.#options.fadingMs);
  }

  #add(counts: Map<string, number>, account: string, count: number): void {
    counts.set(account, (counts.get(account) ?? 0) + count);
  }
}

/** A clock that counts the timers that fire. At most two are for each work itself. */
class CountingClock extends VirtualClock {
  timers = 0;

  override timer(ms: number, fire: () => void): Timer {
    return super.timer(ms, () => {
      this.timers += 1;
      fire();
    });
  }
}

/** Runs works, and checks the slots until long after the end of the last one. */
async function runAll(clock: VirtualClock, options: FairSlotsOptions, all: readonly Work[]) {
  const model = new Model(clock, options);
  const slots = new FairSlots(clock, options);
  const check = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    model.checkNoIdleSlot();
  };
  const running: Promise<void>[] = [];
  for (const work of all) {
    running.push(model.run(slots, work));
    if (work.pauseMs > 0) await check(work.pauseMs);
  }
  for (let turn = 0; turn < 40; turn += 1) await check(10);
  await check(20_000 * 70);
  await Promise.all(running);
  await slots.idle();
  return model;
}

test.each(CASES)("work of any accounts gets its turn with %j", async (options) => {
  await fc.assert(
    fc.asyncProperty(works, async (all) => {
      const clock = new CountingClock();
      const { violations, ended } = await runAll(clock, options, all);
      expect(violations).toEqual([]);
      expect(ended).toBe(all.length);
      expect(clock.timers).toBeLessThan(20 + 12 * all.length);
    }),
    { numRuns: 100 },
  );
});
