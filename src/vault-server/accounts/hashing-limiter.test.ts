import { expect, test } from "vitest";
import { HashingLimiter } from "./hashing-limiter.ts";

const overflow = () => new Error("too many");

test("runs at most two jobs concurrently, the others in order", async () => {
  const gate = new HashingLimiter(2, 10, overflow);
  const started: number[] = [];
  const finish: (() => void)[] = [];
  const jobs = [0, 1, 2, 3].map((job) =>
    gate.run(() => {
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

test("a failed job releases its slot", async () => {
  const gate = new HashingLimiter(1, 10, overflow);
  await expect(gate.run(() => Promise.reject(new Error("job")))).rejects.toThrow("job");
  expect(await gate.run(() => Promise.resolve("next"))).toBe("next");
});

test("rejects a job when the queue is full", async () => {
  const gate = new HashingLimiter(1, 1, overflow);
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = gate.run(() => promise);
  const waiting = gate.run(() => Promise.resolve());
  await expect(gate.run(() => Promise.resolve())).rejects.toThrow("too many");
  resolve();
  await Promise.all([running, waiting]);
});
