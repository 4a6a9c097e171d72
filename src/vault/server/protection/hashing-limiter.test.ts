import { expect, test } from "vitest";
import { HashingLimiter, type HashingParty } from "./hashing-limiter.ts";

const overflow = () => new Error("too many");
const party = (account: string, network = "192.0.2.1"): HashingParty => ({ account, network });
const limiter = (limits: Partial<ConstructorParameters<typeof HashingLimiter>[0]> = {}) =>
  new HashingLimiter(
    {
      concurrency: 1,
      waiting: 100,
      waitingUnknown: 100,
      waitingPerNetwork: 100,
      waitingPerAccount: 100,
      ...limits,
    },
    overflow,
  );

/** Queues a job per party while another one runs, and returns the order in which they start. */
async function order(limits: HashingLimiter, parties: readonly HashingParty[]): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = limits.run(party("first", "first"), () => promise);
  const started: number[] = [];
  const jobs = parties.map((each, index) => limits.run(each, async () => void started.push(index)));
  resolve();
  await Promise.all([running, ...jobs]);
  return started;
}

test("runs at most two jobs concurrently, the others of one account in order", async () => {
  const gate = limiter({ concurrency: 2 });
  const started: number[] = [];
  const finish: (() => void)[] = [];
  const jobs = [0, 1, 2, 3].map((job) =>
    gate.run(party("ann"), () => {
      started.push(job);
      return new Promise<void>((resolve) => finish.push(resolve));
    }),
  );
  await Promise.resolve();
  expect(started).toEqual([0, 1]);
  finish[1]?.();
  await jobs[1];
  expect(started).toEqual([0, 1, 2]);
  finish[0]?.();
  await jobs[0];
  expect(started).toEqual([0, 1, 2, 3]);
  for (const done of finish) done();
  await Promise.all(jobs);
});

test("accounts of one network take turns", async () => {
  const parties = ["ann", "ann", "ann", "bob", "cid", "bob"].map((account) => party(account));
  expect(await order(limiter(), parties)).toEqual([0, 3, 4, 1, 5, 2]);
});

test("networks take turns, however many accounts one of them has", async () => {
  const many = ["a", "b", "c", "d"].map((account) => party(account, "192.0.2.1"));
  expect(await order(limiter(), [...many, party("ann", "192.0.2.2")])).toEqual([0, 4, 1, 2, 3]);
});

test("known parties take turns with all others together", async () => {
  const strangers = ["1", "2", "3"].map((network) => party("a", network));
  const known = ["ann", "bob"].map((account) => ({ ...party(account), known: true }));
  expect(await order(limiter(), [...strangers, ...known])).toEqual([3, 0, 4, 1, 2]);
});

test("a failed job releases its slot", async () => {
  const gate = limiter();
  await expect(gate.run(party("ann"), () => Promise.reject(new Error("job")))).rejects.toThrow(
    "job",
  );
  expect(await gate.run(party("ann"), () => Promise.resolve("next"))).toBe("next");
});

test.each([
  ["the whole queue", { waiting: 2 }, party("new", "192.0.2.9"), false],
  ["the queue of unknown parties", { waitingUnknown: 2 }, party("new", "192.0.2.9"), false],
  [
    "the queue of unknown parties, by a known one",
    { waitingUnknown: 2 },
    { ...party("ann"), known: true },
    true,
  ],
  ["the queue of a network", { waitingPerNetwork: 2 }, party("new"), false],
  ["another network", { waitingPerNetwork: 2 }, party("ann", "192.0.2.9"), true],
  ["the queue of an account", { waitingPerAccount: 2 }, party("ann"), false],
  ["another account", { waitingPerAccount: 2 }, party("new"), true],
])("a job beyond the limit of %s", async (_what, limits, newcomer, admitted) => {
  const gate = limiter(limits);
  const { promise, resolve } = Promise.withResolvers<void>();
  const jobs = [1, 2, 3].map(() => gate.run(party("ann"), () => promise));
  const last = gate.run(newcomer, () => Promise.resolve("done"));
  const outcome = last.catch((error: Error) => error.message);
  resolve();
  expect(await outcome).toBe(admitted ? "done" : "too many");
  await Promise.all(jobs);
});
