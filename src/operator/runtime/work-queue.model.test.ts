import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { PRIORITIES, WorkQueue } from "./work-queue.ts";

/** Model of the queue: keys that are due and keys being processed. */
class Model {
  /** Keys added and not taken since. */
  readonly owed = new Set<string>();
  readonly delayed = new Set<string>();
  readonly working = new Set<string>();

  /** Number of keys that can be taken. */
  get ready(): number {
    return [...this.owed].filter((name) => !this.working.has(name)).length;
  }
}

class Real {
  readonly clock = new VirtualClock();
  readonly queue = new WorkQueue({ clock: this.clock, random: () => 1, groupOf: (key) => key.slice(0, 1) });
}

const key = fc.constantFrom("a1", "a2", "b1", "b2", "c1");
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

const addAfter = fc.tuple(key, priority, fc.integer({ min: 1, max: 100 })).map(([name, urgency, ms]): Command => ({
  check: () => true,
  run: async (model, { queue }) => {
    queue.addAfter(name, ms, urgency);
    model.delayed.add(name);
  },
  toString: () => `addAfter(${name}, ${urgency}, ${ms})`,
}));

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

const take = fc.constant<Command>({
  check: (model) => model.ready > 0,
  run: async (model, { queue }) => {
    const name = await queue.take();
    if (name === undefined) throw new Error("no key taken");
    if (model.working.has(name)) throw new Error(`${name} taken by two workers at the same time`);
    if (!model.owed.has(name)) throw new Error(`${name} taken without having been added since`);
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

test("for any sequence of operations no key is lost, duplicated or processed in parallel", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands([add, addAfter, wait, take, done], { maxCommands: 80, size: "max" }), async (commands) => {
      const model = new Model();
      const real = new Real();
      await fc.asyncModelRun(() => ({ model, real }), commands);
      expect(real.queue.depth, "ready keys").toBe(model.ready);
      expect(real.queue.waiting, "delayed keys").toBe(model.delayed.size);
      for (const name of model.working) real.queue.done(name);
      expect(real.queue.depth, "ready keys when all are done").toBe(model.owed.size);
    }),
    { numRuns: 200 },
  );
});
