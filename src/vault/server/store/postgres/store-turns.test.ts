import { expect, test } from "vitest";
import { failureOf } from "../../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../../test/lab/clock/virtual-clock.ts";
import { StoreUnavailableError } from "../store.ts";
import { accountLock, CONNECTIONS, StoreTurns } from "./store-turns.ts";

/** Writes that end when asked to, by name in the order in which they started. */
function startWrites(clock = new VirtualClock()) {
  const turns = new StoreTurns(clock);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const write = (name: string, account: string, owner = account, wide = false): Promise<void> =>
    turns.run({ account, ownerOf: async () => owner, wide }, () => {
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      return promise;
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settled();
  };
  return { turns, started, write, end };
}

const fail = async (): Promise<never> => Promise.reject(new Error("on purpose"));
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("another account's write does not wait for those of one account, which follow each other", async () => {
  const { started, write, end } = startWrites();
  const all = ["a1", "a2", "a3", "a4"].map((name) => write(name, "ann"));
  all.push(write("b1", "bob"));
  await settled();
  expect(started).toEqual(["a1", "b1"]);
  for (const name of ["a1", "a2", "a3", "a4", "b1"]) await end(name);
  await Promise.all(all);
  expect(started).toEqual(["a1", "b1", "a2", "a3", "a4"]);
});

test("an account that writes the data of many others has two writes in turn at a time", async () => {
  const { started, write, end } = startWrites();
  const all = ["ann", "bob", "eve", "dan"].map((owner) => write(`of ${owner}`, "mallory", owner));
  await settled();
  expect(started).toEqual(["of ann", "of bob"]);
  all.push(write("own", "eve"));
  await settled();
  expect(started).toEqual(["of ann", "of bob", "own"]);
  for (const name of ["of ann", "of bob", "own", "of eve", "of dan"]) await end(name);
  await Promise.all(all);
});

test("wide writes follow each other, and other writes pass them", async () => {
  const { started, write, end } = startWrites();
  const all = ["ann", "bob", "eve"].map((account) =>
    write(`of ${account}`, account, account, true),
  );
  all.push(write("narrow", "dan"));
  await settled();
  expect(started.toSorted()).toEqual(["narrow", "of ann"]);
  for (const name of ["of ann", "of bob", "of eve", "narrow"]) await end(name);
  await Promise.all(all);
  expect(started.slice(2)).toEqual(["of bob", "of eve"]);
});

test("a write whose turn does not come in ten seconds is unavailable and leaves the queue", async () => {
  const clock = new VirtualClock();
  const { started, write, end } = startWrites(clock);
  const first = write("first", "ann");
  const late = write("late", "ann");
  const failure = failureOf(late);
  await clock.advance(10_000);
  expect(await failure).toBeInstanceOf(StoreUnavailableError);
  const next = write("next", "ann");
  await end("first");
  await end("next");
  await Promise.all([first, next]);
  expect(started).toEqual(["first", "next"]);
});

test("a write that fails, or whose owner cannot be found out, gives its turn back", async () => {
  const { turns, started, write, end } = startWrites();
  for (const _ of [1, 2, 3]) {
    await expect(turns.run({ account: "ann" }, fail)).rejects.toThrow("on purpose");
    await expect(
      turns.run({ account: "ann", ownerOf: fail }, async () => undefined),
    ).rejects.toThrow("on purpose");
    await expect(turns.alone("ann", fail)).rejects.toThrow("on purpose");
  }
  const write1 = write("a1", "ann");
  await settled();
  expect(started).toEqual(["a1"]);
  await end("a1");
  await write1;
});

test("accounts take turns with writes that run alone", async () => {
  const { turns } = startWrites();
  const order: string[] = [];
  const alone = (account: string): Promise<unknown> =>
    turns.alone(account, async () => order.push(account));
  await Promise.all(["ann", "ann", "ann", "bob"].map(alone));
  expect(order).toEqual(["ann", "ann", "bob", "ann"]);
});

test.each(["reads", "writes"])(
  "accounts with many %s leave connections to another one",
  async (kind) => {
    const clock = new VirtualClock();
    const turns = new StoreTurns(clock);
    const started: string[] = [];
    const start = (account: string): Promise<void> => {
      const work = (): Promise<void> => {
        started.push(account);
        return clock.sleep(100);
      };
      return kind === "reads"
        ? turns.read({ account }, work)
        : turns.run({ account, ownerOf: async () => `${account} ${started.length}` }, work);
    };
    const accounts = ["a", "b", "c", "d"];
    const all = [1, 2, 3, 4].flatMap(() => accounts.map(start));
    await clock.advance(350);
    all.push(start("eve"));
    await settled();
    expect(started.at(-1)).toBe("eve");
    await clock.advance(2_000);
    await Promise.all(all);
  },
);

test("reads, writes and the server's writes leave a connection of the pool free", async () => {
  const clock = new VirtualClock();
  const turns = new StoreTurns(clock);
  const running = { now: 0, most: 0 };
  const work = async (): Promise<void> => {
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    await clock.sleep(100);
    running.now -= 1;
  };
  const all = Array.from({ length: 20 }, (_, index) => `account ${index}`).flatMap((account) => [
    turns.read({ account }, work),
    turns.run({ account }, work),
    turns.server(work),
  ]);
  await clock.advance(5_000);
  await Promise.all(all);
  expect(running.most).toBe(CONNECTIONS - 1);
});

test("a read of one login of an account passes the queue of another login", async () => {
  const clock = new VirtualClock();
  const turns = new StoreTurns(clock);
  const ended: string[] = [];
  const read = async (login: string): Promise<void> => {
    await turns.read({ account: "ann", login }, () => clock.sleep(100));
    ended.push(login);
  };
  const all = [...Array.from({ length: 20 }, () => read("many")), read("few")];
  await clock.advance(250);
  expect(ended).toContain("few");
  await clock.advance(5_000);
  await Promise.all(all);
});

test("the lock of an account has the same key in every process", () => {
  expect(accountLock("ann@example.com")).toEqual(accountLock("ann@example.com"));
  expect(accountLock("ann@example.com").take).not.toBe(accountLock("bob@example.com").take);
});
