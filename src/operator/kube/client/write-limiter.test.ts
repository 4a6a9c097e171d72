import { expect, test } from "vitest";
import { WriteLimiter } from "./write-limiter.ts";

const forever = new AbortController().signal;

/** Lets everything that is ready run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Tries to enter `count` times and tells how many are inside. */
async function crowd(gate: WriteLimiter, count: number): Promise<Disposable[]> {
  const inside: Disposable[] = [];
  for (let n = 0; n < count; n += 1) void gate.acquire(forever).then((place) => inside.push(place));
  await settle();
  return inside;
}

test("no more are inside than the cap, and each that leaves lets one in", async () => {
  const gate = new WriteLimiter(3);
  const inside = await crowd(gate, 5);
  expect(inside).toHaveLength(3);
  inside[0]?.[Symbol.dispose]();
  await settle();
  expect(inside).toHaveLength(4);
});

test("a 429 halves the cap, down to one; successes raise it again, up to the maximum", () => {
  const gate = new WriteLimiter(16);
  gate.onThrottled();
  expect(gate.limit).toBe(8);
  for (let n = 0; n < 10; n += 1) gate.onThrottled();
  expect(gate.limit).toBe(1);
  gate.onSuccess();
  expect(gate.limit).toBe(2);
  for (let n = 0; n < 1_000; n += 1) gate.onSuccess();
  expect(gate.limit).toBe(16);
});

test("after a cut nobody enters before enough have left", async () => {
  const gate = new WriteLimiter(4);
  const inside = await crowd(gate, 6);
  gate.onThrottled();
  inside[0]?.[Symbol.dispose]();
  inside[1]?.[Symbol.dispose]();
  await settle();
  expect(inside, "two still inside, which is the cap").toHaveLength(4);
  inside[2]?.[Symbol.dispose]();
  await settle();
  expect(inside).toHaveLength(5);
});

test("who gives up waiting takes no place", async () => {
  const gate = new WriteLimiter(1);
  const [first] = await crowd(gate, 1);
  const impatient = new AbortController();
  const waiting = gate.acquire(impatient.signal);
  impatient.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(gate.acquire(impatient.signal)).rejects.toThrow("enough");
  first?.[Symbol.dispose]();
  expect(await crowd(gate, 1)).toHaveLength(1);
});
