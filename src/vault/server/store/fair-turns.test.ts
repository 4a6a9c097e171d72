import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { FairTurns } from "./fair-turns.ts";

/** Runs work of accounts that takes a time each; `ended` has the accounts in the order it ended. */
function start() {
  const clock = new VirtualClock();
  const turns = new FairTurns(clock);
  const ended: string[] = [];
  const work = async (account: string, ms: number): Promise<void> => {
    await turns.run(account, () => clock.sleep(ms));
    ended.push(account);
  };
  return { clock, turns, ended, work };
}

test("work does not wait for the queue of an account that asks for more", async () => {
  const { clock, ended, work } = start();
  const all = [...Array.from({ length: 5 }, () => work("many", 10)), work("few", 10)];
  await clock.advance(20);
  expect(ended).toEqual(["many", "few"]);
  all.push(work("few", 10), work("new", 10));
  await clock.advance(1000);
  await Promise.all(all);
  expect(ended.slice(0, 6)).toEqual(["many", "few", "many", "few", "new", "many"]);
});

test("accounts get the same time, not the same number of turns", async () => {
  const { clock, ended, work } = start();
  const all = [
    ...Array.from({ length: 5 }, () => work("long", 100)),
    ...Array.from({ length: 50 }, () => work("short", 10)),
  ];
  await clock.advance(610);
  expect(ended.filter((account) => account === "long")).toHaveLength(3);
  expect(ended.filter((account) => account === "short")).toHaveLength(30);
  await clock.advance(1000);
  await Promise.all(all);
});

test("an account saves up no time while it asks for nothing", async () => {
  const { clock, ended, work } = start();
  await Promise.all([work("steady", 1000), clock.advance(1000)]);
  const all = [
    ...Array.from({ length: 5 }, () => work("late", 10)),
    ...Array.from({ length: 5 }, () => work("other", 10)),
  ];
  await clock.advance(100);
  await Promise.all(all);
  expect(ended.slice(1, 5)).toEqual(["late", "other", "late", "other"]);
});

test("a failure of one account's work leaves the next one its turn", async () => {
  const { turns } = start();
  const failed = turns.run("a", async () => {
    throw new Error("failed");
  });
  const next = turns.run("a", async () => "done");
  await expect(failed).rejects.toThrow("failed");
  expect(await next).toBe("done");
});

test("idle resolves after all work that waits, of every account", async () => {
  const { clock, turns, ended, work } = start();
  const all = [work("a", 10), work("b", 10), work("a", 10)];
  const idle = turns.idle().then(() => ended.length);
  await clock.advance(100);
  await Promise.all(all);
  expect(await idle).toBe(3);
});

test("a turn of an account that has had more waits, but not when another one arrives", async () => {
  const clock = new VirtualClock();
  const turns = new FairTurns(clock, (isAhead) =>
    isAhead && clock.monotonic() < 100 ? clock.sleep(100) : undefined,
  );
  const ended: string[] = [];
  const work = async (account: string): Promise<void> => {
    await turns.run(account, () => clock.sleep(10));
    ended.push(account);
  };
  const all = [work("many"), work("many")];
  await clock.advance(20);
  expect(ended).toEqual(["many"]);
  all.push(work("few"));
  await clock.advance(20);
  expect(ended).toEqual(["many", "few"]);
  await clock.advance(100);
  await Promise.all(all);
  expect(ended).toEqual(["many", "few", "many"]);
});
