import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { Random } from "../../../lib/random.ts";
import { AuthError, RateLimitedError, TransientError, UnexpectedResponse } from "../vault-error.ts";
import { ListFollower, type ListResult, HoldTime } from "./list-follower.ts";

/** A response, or a failure, and how long the vault takes for it. */
type Step = Partial<ListResult> & { readonly failure?: Error; readonly takesMs?: number };

interface Followed {
  readonly follower: ListFollower;
  readonly clock: VirtualClock;
  /** Start of each request, and for how many seconds the vault may hold it. */
  readonly at: number[];
  readonly waits: (number | undefined)[];
  readonly failures: unknown[];
}

/**
 * Follows a list whose requests end with these steps, the last one repeatedly. Without `hold` it is
 * polled.
 */
function follow(
  steps: readonly Step[],
  {
    hold = false,
    intervalMs = 60_000,
    random = () => 0.5,
  }: { hold?: boolean; intervalMs?: number; random?: Random } = {},
): Followed {
  const clock = new VirtualClock();
  const left = [...steps];
  const [at, waits, failures]: [number[], (number | undefined)[], unknown[]] = [[], [], []];
  const list = async (
    waitSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<ListResult> => {
    at.push(clock.monotonic());
    waits.push(waitSeconds);
    const { failure, takesMs = 0, ...result } = (left.length > 1 ? left.shift() : left[0]) ?? {};
    if (takesMs > 0) await clock.sleep(takesMs, signal);
    if (failure) throw failure;
    return {
      hasBody: true,
      hasTag: hold,
      changed: false,
      holds: undefined,
      dueInMs: undefined,
      ...result,
    };
  };
  const onFailure = (error: unknown): void => void failures.push(error);
  const follower = new ListFollower({ clock, random, intervalMs, wait: hold, list, onFailure });
  onTestFinished(() => follower[Symbol.asyncDispose]());
  return { follower, clock, at, waits, failures };
}

const broken = { failure: new TransientError("list_no_dup", "reset") };

test("lists once per interval, measured from start to start", async () => {
  const { clock, at } = follow([{ takesMs: 2_000 }]);
  await clock.advance(185_000);
  expect(at).toEqual([0, 60_000, 120_000, 180_000]);
});

test("varies the interval by 10 %", async () => {
  const shortest = follow([{}], { random: () => 0 });
  const longest = follow([{}], { random: () => 0.999_999 });
  for (const { clock } of [shortest, longest]) await clock.advance(70_000);
  expect(shortest.at[1]).toBe(54_000);
  expect(Math.round(longest.at[1] ?? 0)).toBe(66_000);
});

test("lists before the interval ends when a change is known, never later", async () => {
  const { clock, at } = follow([{ dueInMs: 5_000 }, { dueInMs: 90_000 }]);
  await clock.advance(65_000);
  expect(at).toEqual([0, 5_000, 65_000]);
});

test("soon() lists a second after the last list at the earliest, and restarts the interval", async () => {
  const { follower, clock, at } = follow([{}]);
  await clock.advance(0);
  for (let call = 0; call < 10; call += 1) follower.soon();
  await clock.advance(10_000);
  follower.soon();
  await clock.advance(60_000);
  expect(at).toEqual([0, 1_000, 10_000, 70_000]);
});

test("soon() during a list is followed by another one", async () => {
  const { follower, clock, at } = follow([{ takesMs: 500 }]);
  await clock.advance(100);
  follower.soon();
  await clock.advance(30_000);
  expect(at).toEqual([0, 1_500]);
});

test("failures increase the delay, are reported, and a success resets it", async () => {
  const unreadable = { failure: new UnexpectedResponse("list_no_dup", "secrets") };
  const { clock, at, failures } = follow([
    broken,
    unreadable,
    { failure: new Error("x") },
    {},
    broken,
    {},
  ]);
  await clock.advance(66_000);
  expect(at).toEqual([0, 750, 2_250, 5_250, 65_250, 66_000]);
  expect(failures).toHaveLength(4);
});

test.each<[Error, number]>([
  [new RateLimitedError("list_no_dup", 600_000), 600_000],
  [new AuthError("generate_access_token", "credentials", 300_000), 300_000],
  [
    new TransientError("list_no_dup", "server_error", { status: 503, retryAfterMs: 20_000 }),
    20_000,
  ],
  [new TransientError("list_no_dup", "server_error", { status: 503, retryAfterMs: 100 }), 750],
])("after %s soon() lists %d ms later, retryNow() immediately", async (failure, wait) => {
  const { follower, clock, at } = follow([{ failure }, {}, { failure }, {}]);
  await clock.advance(0);
  follower.soon();
  await clock.advance(wait);
  expect(at).toEqual([0, wait]);
  await clock.advance(60_000);
  follower.retryNow();
  await clock.advance(0);
  expect(at).toEqual([0, wait, wait + 60_000, wait + 60_000]);
});

test("a list that was not sent does not increase the backoff", async () => {
  const unsent = {
    failure: new TransientError("list_no_dup", "circuit_open", { retryAfterMs: 100 }),
  };
  const { clock, at } = follow([broken, unsent, unsent, unsent, broken, {}]);
  await clock.advance(10_000);
  expect(at).toEqual([0, 750, 850, 950, 1_050, 2_550]);
});

test("a disposed follower never lists again, even after soon()", async () => {
  const { follower, clock, at } = follow([{}]);
  await clock.advance(1_000);
  await follower[Symbol.asyncDispose]();
  follower.soon();
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  expect(at).toEqual([0]);
});

const held = { holds: true, hasBody: false, takesMs: 50_000 };

test("a vault that holds requests has one list in progress at any time", async () => {
  const { clock, at, waits } = follow([{}, { ...held, takesMs: 1_000 }, held], { hold: true });
  await clock.advance(300_000);
  expect(at).toEqual([0, 1_000, 2_000, 52_000, 102_000, 152_000, 202_000, 252_000]);
  expect(waits).toEqual([1, 1, 50, 50, 50, 50, 50, 50]);
});

test("a held request ends with the interval, so that a silent vault is noticed in time", async () => {
  const { clock, waits } = follow([{}, { ...held, takesMs: 1_000 }, { ...held, takesMs: 5_000 }], {
    hold: true,
    intervalMs: 5_000,
  });
  await clock.advance(20_000);
  expect(waits.slice(2)).toEqual([5, 5, 5, 5]);
});

test("a held request ends when a change is known to happen", async () => {
  const steps = [{}, { ...held, takesMs: 1_000, dueInMs: 12_500 }, { ...held, takesMs: 13_000 }];
  const { clock, waits } = follow(steps, { hold: true });
  await clock.advance(10_000);
  expect(waits).toEqual([1, 1, 13]);
});

test("a change ends the held request, and the next list follows a second later", async () => {
  const changed = { holds: true, hasBody: true, changed: true, takesMs: 10_000 };
  const burst = { ...changed, takesMs: 1 };
  const { clock, at } = follow(
    [{}, { ...held, takesMs: 1_000 }, changed, burst, burst, burst, held],
    { hold: true },
  );
  await clock.advance(17_000);
  expect(at).toEqual([0, 1_000, 2_000, 13_000, 14_001, 15_002, 16_003]);
});

test("soon() aborts a held request, which is not a failure, and sends one that is not held", async () => {
  const steps = [{}, { ...held, takesMs: 1_000 }, held, { holds: undefined, hasBody: false }, held];
  const { follower, clock, at, waits, failures } = follow(steps, { hold: true });
  await clock.advance(20_000);
  follower.soon();
  await clock.advance(1_000);
  expect(at).toEqual([0, 1_000, 2_000, 20_000, 21_000]);
  expect(waits).toEqual([1, 1, 50, undefined, 50]);
  expect(failures).toEqual([]);
});

test("a vault that responds immediately is asked once per interval after three responses", async () => {
  const early = { holds: true, hasBody: false };
  const { clock, at } = follow([{}, early, early, early, early, early, held], { hold: true });
  await clock.advance(400_000);
  expect(at.slice(0, 8)).toEqual([0, 1_000, 2_000, 3_000, 63_000, 123_000, 183_000, 233_000]);
});

test("a vault that does not hold requests is asked again once per interval whether it does", async () => {
  const { clock, at, waits } = follow([{}, { holds: false, hasBody: false }], { hold: true });
  await clock.advance(200_000);
  expect(at).toEqual([0, 1_000, 61_000, 121_000, 181_000]);
  expect(waits).toEqual([1, 1, 1, 1, 1]);
});

test("a vault without entity tags is listed once per interval", async () => {
  const { clock, at } = follow([{ hasTag: false }], { hold: true });
  await clock.advance(130_000);
  expect(at).toEqual([0, 60_000, 120_000]);
});

test("the first list after a failure is not held, so that the vault is seen to respond again", async () => {
  const steps = [{}, { ...held, takesMs: 1_000 }, broken, { hasBody: false }, held];
  const { clock, at, waits } = follow(steps, { hold: true });
  await clock.advance(15_000);
  expect(at).toEqual([0, 1_000, 2_000, 2_750, 12_750]);
  expect(waits).toEqual([1, 1, 50, undefined, 50]);
});

const cut = {
  failure: new TransientError("list_no_dup", "server_error", { status: 504 }),
  takesMs: 15_000,
};
const unchanged = { hasBody: false };

test("a held request that is cut is followed by one that is not held, then by one held for less", async () => {
  const steps = [
    {},
    { ...held, takesMs: 1_000 },
    cut,
    unchanged,
    cut,
    unchanged,
    { ...held, takesMs: 14_000 },
  ];
  const { clock, at, waits, failures } = follow(steps, { hold: true });
  await clock.advance(60_000);
  expect(at).toEqual([0, 1_000, 2_000, 17_000, 18_000, 33_000, 34_000, 48_000]);
  expect(waits).toEqual([1, 1, 50, undefined, 25, undefined, 14, 14]);
  expect(failures).toEqual([]);
});

test("the list that follows a cut request reports the failure of a vault, which shortens no hold", async () => {
  const steps = [{}, { ...held, takesMs: 1_000 }, cut, broken, unchanged, held];
  const { clock, at, waits, failures } = follow(steps, { hold: true });
  await clock.advance(30_000);
  expect(at).toEqual([0, 1_000, 2_000, 17_000, 17_750, 27_750]);
  expect(waits).toEqual([1, 1, 50, undefined, undefined, 50]);
  expect(failures).toEqual([broken.failure]);
});

test.each<Error>([
  new TransientError("list_no_dup", "server_error", { status: 503, retryAfterMs: 5_000 }),
  new RateLimitedError("list_no_dup", 5_000),
  new AuthError("list_no_dup", "token"),
  new Error("of another kind"),
])("a held request that ends with %s has failed", async (failure) => {
  const { clock, failures } = follow(
    [{}, { ...held, takesMs: 1_000 }, { failure, takesMs: 15_000 }],
    { hold: true },
  );
  await clock.advance(17_000);
  expect(failures).toEqual([failure]);
});

test("a held request that fails within a second has failed", async () => {
  const { clock, failures } = follow([{}, { ...held, takesMs: 1_000 }, { ...cut, takesMs: 999 }], {
    hold: true,
  });
  await clock.advance(3_000);
  expect(failures).toEqual([cut.failure]);
});

test("a path that holds no request is polled, and tried again after an hour", async () => {
  const short = { ...cut, takesMs: 4_000 };
  const cuts = [short, unchanged, short, unchanged, short, unchanged, short, unchanged];
  const { clock, at, waits } = follow([{}, { ...held, takesMs: 1_000 }, ...cuts, unchanged], {
    hold: true,
  });
  await clock.advance(3_500_000);
  expect(at.slice(10, 13).map((time, index) => time - (at[index + 9] ?? 0))).toEqual([
    60_000, 60_000, 60_000,
  ]);
  expect(waits.slice(9).every((wait) => wait === undefined)).toBe(true);
  await clock.advance(180_000);
  expect(waits).toContain(5);
});

test.each([
  [60_000, 60_000],
  [5_000, 5_000],
  [3_600_000, 225_000],
])(
  "with an interval of %d ms a failing list is requested every %d ms on average",
  async (intervalMs, delay) => {
    const { clock, at } = follow([broken], { intervalMs });
    await clock.advance(7_200_000);
    const delays = at.map((time, index) => time - (at[index - 1] ?? 0));
    expect(delays.at(-1)).toBeCloseTo(delay, 6);
  },
);

const HOUR = 3_600_000;

/** Returns the hold in seconds after each of these cuts, in ms after which they happened. */
function afterCuts(...cuts: readonly number[]): number[] {
  const hold = new HoldTime(new VirtualClock());
  return cuts.map((afterMs) => {
    hold.cut(afterMs);
    return hold.seconds;
  });
}

test("a cut shortens the hold to a second less than it lasted, to a half at most", () => {
  expect(afterCuts(30_000)).toEqual([29]);
  expect(afterCuts(15_000, 15_000)).toEqual([25, 14]);
  expect(afterCuts(2_000)).toEqual([25]);
});

test("a request that ends at its deadline halves the hold", () => {
  expect(afterCuts(60_000, 35_000)).toEqual([25, 12]);
});

test("a path that cuts requests before 6 s holds none", () => {
  expect(afterCuts(6_000, 6_000, 6_000, 6_000)).toEqual([25, 12, 6, 5]);
  expect(afterCuts(4_000, 4_000, 4_000, 4_000)).toEqual([25, 12, 6, 0]);
});

test("a longer hold is tried an hour after the last cut, and each hour up to the longest", async () => {
  const clock = new VirtualClock();
  const hold = new HoldTime(clock);
  for (let count = 0; count < 4; count += 1) hold.cut(4_000);
  const seconds = [hold.seconds];
  await clock.advance(HOUR - 1);
  seconds.push(hold.seconds);
  await clock.advance(1);
  for (let hour = 0; hour < 6; hour += 1) {
    seconds.push(hold.seconds);
    await clock.advance(HOUR);
  }
  expect(seconds).toEqual([0, 0, 5, 10, 20, 40, 50, 50]);
});
