import { expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { FairSlots, type FairSlotsOptions } from "./fair-slots.ts";

/** Runs work of accounts that takes a time each; `ended` has the accounts in the order it ended. */
function start(
  options: Partial<FairSlotsOptions> = {},
  ready?: ConstructorParameters<typeof FairSlots>[2],
  clock = new VirtualClock(),
) {
  const all = { slots: 4, share: 4, busy: 4, busyMs: 50, fadingMs: 200, ...options };
  const slots = new FairSlots(clock, all, ready);
  const running = new Map<string, number>();
  const ended: string[] = [];
  const work = async (account: string, ms: number, login?: string): Promise<void> => {
    await slots.run({ account, login }, async () => {
      running.set(account, (running.get(account) ?? 0) + 1);
      await clock.sleep(ms);
      running.set(account, (running.get(account) ?? 0) - 1);
    });
    ended.push(login ?? account);
  };
  const works = (count: number, account: string, ms: number): Promise<void>[] =>
    Array.from({ length: count }, () => work(account, ms));
  return { clock, slots, running, ended, work, works };
}

test("work of an account that asks for little comes next, however much others wait for", async () => {
  const { clock, ended, work, works } = start({ slots: 1 });
  const all = [...works(5, "a", 10), ...works(5, "b", 10), ...works(5, "c", 10)];
  await clock.advance(45);
  expect(ended).toEqual(["a", "b", "c", "a"]);
  all.push(work("little", 1));
  await clock.advance(16);
  expect(ended.slice(4)).toEqual(["b", "c", "little"]);
  await clock.advance(1_000);
  await Promise.all(all);
});

test("accounts get the same time, not the same number of slots", async () => {
  const { clock, ended, works } = start({ slots: 2, share: 1 });
  const all = [
    ...works(50, "long", 100),
    ...works(50, "long too", 100),
    ...works(500, "short", 10),
  ];
  await clock.advance(3_000);
  const [long, short] = ["long", "short"].map(
    (name) => ended.filter((account) => account === name).length,
  );
  expect(short! / long!).toBeGreaterThan(8);
  await clock.advance(100_000);
  await Promise.all(all);
});

test("work of an account that is not busy comes next, also after one that took long", async () => {
  const { clock, ended, work, works } = start({ slots: 1 });
  const all = ["a", "b", "c", "d", "e", "f"].flatMap((name) => works(20, name, 10));
  await clock.advance(5);
  all.push(work("little", 60));
  await clock.advance(200);
  const before = ended.length;
  expect(ended.filter((account) => account === "little")).toHaveLength(1);
  all.push(work("little", 1));
  await clock.advance(55);
  expect(ended.slice(before)).toContain("little");
  await clock.advance(2_000);
  await Promise.all(all);
});

test("logins of one account take turns, whatever one of them asks for", async () => {
  const { clock, ended, work } = start({ slots: 1 });
  const many = (): Promise<void> => work("a", 10, "many");
  const all = [many(), many(), many(), work("a", 10, "few"), many(), work("a", 10, "few")];
  await clock.advance(100);
  await Promise.all(all);
  expect(ended).toEqual(["many", "many", "few", "many", "few", "many"]);
});

test("busy accounts get some of the slots together, and one its share", async () => {
  const { clock, running, ended, work, works } = start({ share: 2, busy: 3 });
  const all = [...works(20, "a", 100), ...works(20, "b", 100)];
  await clock.advance(0);
  expect([running.get("a"), running.get("b")]).toEqual([2, 2]);
  await clock.advance(150);
  expect((running.get("a") ?? 0) + (running.get("b") ?? 0)).toBe(3);
  all.push(work("little", 1));
  await clock.advance(1);
  expect(ended.at(-1)).toBe("little");
  await clock.advance(10_000);
  await Promise.all(all);
});

test("an account is no longer busy a second after much work", async () => {
  const { clock, running, works } = start({ busy: 1 });
  const before = works(4, "a", 100);
  await clock.advance(1_100);
  await Promise.all(before);
  const after = works(4, "a", 100);
  await clock.advance(0);
  expect(running.get("a")).toBe(4);
  await clock.advance(100);
  await Promise.all(after);
});

test("work of a busy account starts when it is no longer busy, while other work runs on", async () => {
  const { clock, running, ended, work, works } = start({ share: 2, busy: 2 });
  const long = works(5, "long", 10_000);
  const first = work("little", 60);
  await clock.advance(60);
  expect(ended).toEqual(["little"]);
  const second = work("little", 1);
  await clock.advance(1);
  expect(running.get("little")).toBe(0);
  await clock.advance(100);
  expect(ended).toEqual(["little", "little"]);
  await clock.advance(30_000);
  await Promise.all([...long, first, second]);
});

test("work that is aborted while it waits leaves its place, and a failure its slot", async () => {
  const { clock, slots, ended, work } = start({ slots: 1 });
  const first = work("a", 10);
  const left = new AbortController();
  const aborted = slots.run({ account: "b" }, async () => "ran", left.signal);
  const failure = failureOf(
    slots.run({ account: "c" }, async () => {
      throw new Error("on purpose");
    }),
  );
  const last = work("d", 10);
  left.abort(new Error("left"));
  await expect(aborted).rejects.toThrow("left");
  await clock.advance(20);
  expect(await failure).toMatchObject({ message: "on purpose" });
  await Promise.all([first, last]);
  expect(ended).toEqual(["a", "d"]);
  await expect(slots.run({ account: "b" }, async () => "ran", left.signal)).rejects.toThrow("left");
});

test("a login whose only work is aborted leaves its turn to the next one", async () => {
  const { clock, slots, ended, work } = start({ slots: 1 });
  const left = new AbortController();
  const first = work("a", 10, "first");
  const aborted = slots.run({ account: "a", login: "left" }, async () => "ran", left.signal);
  const next = work("a", 10, "next");
  left.abort(new Error("left"));
  await expect(aborted).rejects.toThrow("left");
  await clock.advance(20);
  await Promise.all([first, next]);
  expect(ended).toEqual(["first", "next"]);
});

test("the use of an account is remembered until a thousand others have ended work", async () => {
  const { clock, slots, running, works } = start({ busy: 1 });
  const many = [works(4, "a", 100)];
  await clock.advance(100);
  many.push(works(4, "a", 100));
  await clock.advance(0);
  expect(running.get("a")).toBe(1);
  await clock.advance(400);
  for (let stranger = 0; stranger < 1_001; stranger += 1)
    await slots.run({ account: `stranger ${stranger}` }, async () => undefined);
  many.push(works(4, "a", 100));
  await clock.advance(0);
  expect(running.get("a")).toBe(4);
  await clock.advance(100);
  await Promise.all(many.flat());
});

test("strangers whose work is aborted while it waits are forgotten as well", async () => {
  const { clock, slots, running, works } = start({ busy: 1, fadingMs: 1_000_000 });
  // More than the ends of other work would forget.
  const all = Array.from({ length: 8 }, (_, older) => works(1, `older ${older}`, 1));
  await clock.advance(1_000);
  all.push(works(4, "a", 100));
  await clock.advance(1_000);
  all.push(works(4, "holder", 10_000));
  await clock.advance(0);
  const left = new AbortController();
  const strangers = Array.from({ length: 1_001 }, (_, stranger) =>
    slots.run({ account: `stranger ${stranger}` }, async () => undefined, left.signal),
  );
  left.abort(new Error("left"));
  await Promise.allSettled(strangers);
  await clock.advance(10_000);
  all.push(works(4, "a", 100));
  await clock.advance(0);
  expect(running.get("a")).toBe(4);
  await clock.advance(1_000);
  await Promise.all(all.flat());
});

const oneAtATime = { slots: 1, share: 1, busy: 1, busyMs: 0 };

test("an account saves up no time while it asks for nothing", async () => {
  const { clock, ended, work, works } = start(oneAtATime);
  await Promise.all([work("steady", 1000), clock.advance(1000)]);
  const all = [...works(5, "late", 10), ...works(5, "other", 10)];
  await clock.advance(100);
  await Promise.all(all);
  expect(ended.slice(1, 5)).toEqual(["late", "other", "late", "other"]);
});

test("idle resolves after all work that waits, of every account, and when there is none", async () => {
  const { clock, slots, ended, works } = start(oneAtATime);
  await slots.idle();
  const all = [...works(2, "a", 10), ...works(1, "b", 10)];
  const idle = slots.idle().then(() => ended.length);
  await clock.advance(100);
  await Promise.all(all);
  expect(await idle).toBe(3);
});

test("a turn of an account that has had more waits, but not when another one arrives", async () => {
  const clock = new VirtualClock();
  const { ended, work, works } = start(
    oneAtATime,
    (isAhead) => (isAhead && clock.monotonic() < 100 ? clock.sleep(100) : undefined),
    clock,
  );
  const all = works(2, "many", 10);
  await clock.advance(20);
  expect(ended).toEqual(["many"]);
  all.push(work("few", 10));
  await clock.advance(20);
  expect(ended).toEqual(["many", "few"]);
  await clock.advance(100);
  await Promise.all(all);
  expect(ended).toEqual(["many", "few", "many"]);
});
