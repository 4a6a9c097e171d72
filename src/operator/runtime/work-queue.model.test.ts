import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { PRIORITIES } from "./ready-keys.ts";
import { WorkQueue } from "./work-queue.ts";

/**
 * Keys that may be processed simultaneously per connection; the last character of a key is its
 * connection.
 */
const MAX_IN_FLIGHT = 2;

const connectionOf = (name: string): string => name.slice(-1);

/** Model of the queue: keys that are due and keys being processed. */
class Model {
  /** Keys added and not taken since. */
  readonly owed = new Set<string>();
  readonly delayed = new Set<string>();
  readonly retried = new Set<string>();
  readonly working = new Set<string>();

  /** Number of keys that are ready. */
  get ready(): number {
    return [...this.owed].filter((name) => !this.working.has(name)).length;
  }

  /** Reports whether a key can be taken: its connection is not at its cap. */
  get canTake(): boolean {
    return [...this.owed].some(
      (name) => !this.working.has(name) && this.inFlight(name) < MAX_IN_FLIGHT,
    );
  }

  /** Number of keys of the same connection being processed. */
  inFlight(name: string): number {
    return [...this.working].filter((other) => connectionOf(other) === connectionOf(name)).length;
  }
}

class Real {
  readonly clock = new VirtualClock();
  readonly queue = new WorkQueue({
    clock: this.clock,
    random: () => 1,
    turnOf: (key) => key.slice(0, 1),
    capOf: connectionOf,
    maxInFlight: MAX_IN_FLIGHT,
  });
}

const key = fc.constantFrom("a1", "a2", "b1", "b2", "c1", "d1");
const priority = fc.constantFrom(...PRIORITIES);
type Command = fc.AsyncCommand<Model, Real>;

const add = fc.tuple(key, priority).map(([name, urgency]): Command => ({
  check: () => true,
  run: async (model, { queue }) => {
    queue.add(name, urgency);
    model.owed.add(name);
  },
  toString: () => `add(${name}, ${urgency})`,
}));

const addAfter = fc
  .tuple(key, priority, fc.integer({ min: 1, max: 100 }))
  .map(([name, urgency, ms]): Command => ({
    check: () => true,
    run: async (model, { queue }) => {
      queue.addAfter(name, ms, urgency);
      model.delayed.add(name);
    },
    toString: () => `addAfter(${name}, ${urgency}, ${ms})`,
  }));

const drop = key.map((name): Command => ({
  check: () => true,
  run: async (model, { queue }) => {
    queue.drop(name);
    model.delayed.delete(name);
  },
  toString: () => `drop(${name})`,
}));

/** Fails a key. Its retry is due later than all delays of a run together. */
const retry = key.map((name): Command => ({
  check: (model) => model.working.has(name),
  run: async (model, { queue }) => {
    queue.retry(name, "api", 100_000);
    queue.done(name);
    model.working.delete(name);
    model.retried.add(name);
  },
  toString: () => `retry(${name})`,
}));

/** Adds the keys to be retried, the first immediately and one more every 5 ms. */
const forgive = fc.constant<Command>({
  check: () => true,
  run: async (model, { queue }) => {
    queue.forgive("api");
    for (const [n, name] of [...model.retried].entries())
      (n === 0 ? model.owed : model.delayed).add(name);
    model.retried.clear();
  },
  toString: () => "forgive()",
});

/** Makes every delayed key due: 100 ms is the longest delay above. */
const wait = fc.constant<Command>({
  check: () => true,
  run: async (model, { clock }) => {
    await clock.advance(100);
    for (const name of model.delayed) model.owed.add(name);
    model.delayed.clear();
  },
  toString: () => "wait()",
});

/** Makes every retry due, and every delayed key. */
const waitLong = fc.constant<Command>({
  check: () => true,
  run: async (model, { clock }) => {
    await clock.advance(100_000);
    for (const name of [...model.delayed, ...model.retried]) model.owed.add(name);
    model.delayed.clear();
    model.retried.clear();
  },
  toString: () => "waitLong()",
});

const take = fc.constant<Command>({
  check: (model) => model.canTake,
  run: async (model, { queue }) => {
    const name = await queue.take();
    if (name === undefined) throw new Error("no key taken");
    if (model.working.has(name)) throw new Error(`${name} taken by two workers at the same time`);
    if (!model.owed.has(name)) throw new Error(`${name} taken without having been added since`);
    if (model.inFlight(name) >= MAX_IN_FLIGHT)
      throw new Error(`${name} taken although its connection is at its cap`);
    model.retried.delete(name);
    model.owed.delete(name);
    model.working.add(name);
  },
  toString: () => "take()",
});

const done = key.map((name): Command => ({
  check: (model) => model.working.has(name),
  run: async (model, { queue }) => {
    queue.done(name);
    model.working.delete(name);
  },
  toString: () => `done(${name})`,
}));

const operations = [add, addAfter, drop, retry, forgive, wait, waitLong, take, done];

test("no sequence of operations loses or duplicates a key, or exceeds its cap", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.commands(operations, { maxCommands: 80, size: "max" }),
      async (commands) => {
        const model = new Model();
        const real = new Real();
        await fc.asyncModelRun(() => ({ model, real }), commands);
        expect(real.queue.depth, "ready keys").toBe(model.ready);
        expect(real.queue.retrying, "keys to be retried").toBe(model.retried.size);
        for (const name of model.working) real.queue.done(name);
        expect(real.queue.depth, "ready keys when all are done").toBe(model.owed.size);
        await real.clock.advance(100_000);
        const all = new Set([...model.owed, ...model.delayed, ...model.retried]);
        expect(real.queue.depth, "ready keys when all are due").toBe(all.size);
        expect(real.clock.pending, "timers").toBe(0);
      },
    ),
    { numRuns: 200 },
  );
});
