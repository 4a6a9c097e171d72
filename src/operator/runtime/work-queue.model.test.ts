import * as fc from "fast-check";
import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { PRIORITIES, WorkQueue } from "./work-queue.ts";

/** What a correct queue owes: keys to hand out, and keys being worked on. */
class Model {
  /** Added and not handed out since. */
  readonly owed = new Set<string>();
  readonly delayed = new Set<string>();
  readonly working = new Set<string>();

  /** How many could be handed out now. */
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

/** Everything delayed is due after 100 ms: longer than any delay above. */
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
    if (name === undefined) throw new Error("nothing handed out");
    if (model.working.has(name)) throw new Error(`${name} handed to two workers at once`);
    if (!model.owed.has(name)) throw new Error(`${name} handed out without having been added since`);
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

test("whatever happens, no key is lost, doubled, or worked on twice at once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands([add, addAfter, wait, take, done], { maxCommands: 80, size: "max" }), async (commands) => {
      const model = new Model();
      const real = new Real();
      await fc.asyncModelRun(() => ({ model, real }), commands);
      expect(real.queue.depth, "what is ready").toBe(model.ready);
      expect(real.queue.waiting, "what is delayed").toBe(model.delayed.size);
      for (const name of model.working) real.queue.done(name);
      expect(real.queue.depth, "what is ready when all is done").toBe(model.owed.size);
    }),
    { numRuns: 200 },
  );
});
