import { expect, test } from "vitest";
import { InFlightLimiter } from "./in-flight-limiter.ts";

const forever = new AbortController().signal;

/** Runs everything that is ready. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Requests `count` slots and returns how many are granted. */
async function crowd(limiter: InFlightLimiter, count: number): Promise<Disposable[]> {
  const granted: Disposable[] = [];
  for (let n = 0; n < count; n += 1)
    void limiter.acquire(forever).then((slot) => granted.push(slot));
  await settle();
  return granted;
}

test("the limiter grants slots up to its limit, and a released slot goes to the next waiter", async () => {
  const limiter = new InFlightLimiter(3);
  const granted = await crowd(limiter, 5);
  expect(granted).toHaveLength(3);
  granted[0]?.[Symbol.dispose]();
  await settle();
  expect(granted).toHaveLength(4);
});

test("a 429 halves the limit down to one; successes raise it up to the maximum", () => {
  const limiter = new InFlightLimiter(16);
  limiter.onThrottled();
  expect(limiter.limit).toBe(8);
  for (let n = 0; n < 10; n += 1) limiter.onThrottled();
  expect(limiter.limit).toBe(1);
  limiter.onSuccess();
  expect(limiter.limit).toBe(2);
  for (let n = 0; n < 1_000; n += 1) limiter.onSuccess();
  expect(limiter.limit).toBe(16);
});

test("after a lowered limit no slot is granted before enough are released", async () => {
  const limiter = new InFlightLimiter(4);
  const granted = await crowd(limiter, 6);
  limiter.onThrottled();
  granted[0]?.[Symbol.dispose]();
  granted[1]?.[Symbol.dispose]();
  await settle();
  expect(granted, "two slots in use, which is the limit").toHaveLength(4);
  granted[2]?.[Symbol.dispose]();
  await settle();
  expect(granted).toHaveLength(5);
});

test("an aborted waiter takes no slot", async () => {
  const limiter = new InFlightLimiter(1);
  const [first] = await crowd(limiter, 1);
  const waiter = new AbortController();
  const waiting = limiter.acquire(waiter.signal);
  waiter.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(limiter.acquire(waiter.signal)).rejects.toThrow("enough");
  first?.[Symbol.dispose]();
  expect(await crowd(limiter, 1)).toHaveLength(1);
});
