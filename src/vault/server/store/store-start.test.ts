import { expect, test } from "vitest";
import { recordingLogger } from "../../../../test/lab/assertions/recording-logger.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { StoreStart } from "./store-start.ts";
import { StoreUnavailableError } from "./store.ts";

const refused = (): never => {
  throw new StoreUnavailableError("cannot connect", {
    cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
  });
};

function scene(waits = true) {
  const clock = new VirtualClock();
  const { logger, lines } = recordingLogger();
  const stop = new AbortController();
  const start = new StoreStart({ waits, logger, signal: stop.signal, clock, random: () => 0.5 });
  let isDown = true;
  let attempts = 0;
  const step = async (): Promise<string> => {
    attempts += 1;
    return isDown ? refused() : "open";
  };
  return { clock, lines, stop, start, step, attempts: () => attempts, up: () => (isDown = false) };
}

test("a step is repeated until the store can be reached, with one line and its reason", async () => {
  const { clock, lines, start, step, attempts, up } = scene();
  const result = start.run(step);
  await clock.advance(120_000);
  expect(start.problem).toBe("cannot connect");
  expect(lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
    [
      "error",
      "store cannot be reached, retrying",
      { event: "store_unavailable", reason: "cannot connect", code: "ECONNREFUSED" },
    ],
  ]);
  expect(attempts()).toBeLessThan(25);
  up();
  await clock.advance(10_000);
  expect(await result).toBe("open");
  expect(start.problem).toBeUndefined();
  expect(lines.map(({ message }) => message).slice(1)).toEqual([
    "store can be reached, continuing the start",
  ]);
});

test("a store that cannot be reached for twenty minutes is logged every ten minutes", async () => {
  const { clock, lines, start, step, up } = scene();
  const result = start.run(step);
  await clock.advance(1_250_000);
  expect(lines).toHaveLength(3);
  up();
  await clock.advance(10_000);
  await result;
});

test("an error that no wait can repair ends the start", async () => {
  const { start, lines } = scene();
  await expect(start.run(() => Promise.reject(new Error("wrong password")))).rejects.toThrow(
    "wrong password",
  );
  expect(lines).toEqual([]);
});

test("a step on a file is not repeated", async () => {
  const { start, step, attempts } = scene(false);
  await expect(start.run(step)).rejects.toThrow("cannot connect");
  expect(attempts()).toBe(1);
});

test("a stopped start repeats no step", async () => {
  const { clock, start, step, stop, attempts } = scene();
  const result = start.run(step).catch(String);
  await clock.advance(5_000);
  stop.abort(new Error("received a stop signal"));
  const before = attempts();
  await clock.advance(60_000);
  expect(await result).toBe("Error: received a stop signal");
  expect(attempts()).toEqual(before);
});
