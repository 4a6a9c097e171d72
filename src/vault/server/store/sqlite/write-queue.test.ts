import { expect, test } from "vitest";
import { VirtualClock } from "../../../../../test/lab/clock/virtual-clock.ts";
import { BusyFileError } from "./sqlite-failure.ts";
import { WriteQueue } from "./write-queue.ts";

test("writes that arrived with a rejected one are rejected without an attempt", async () => {
  const clock = new VirtualClock();
  const queue = new WriteQueue({ clock, random: () => 0.5 });
  let busy = true;
  const attempts = [0, 0, 0];
  const write = (index: number): Promise<unknown> =>
    queue
      .run({ account: `account ${index}` }, async () => {
        attempts[index]! += 1;
        if (busy) throw new BusyFileError();
        return "written";
      })
      .catch((error: unknown) => error);
  const together = [write(0), write(1)];
  await clock.advance(10_000);
  for (const outcome of together) expect(await outcome).toBeInstanceOf(BusyFileError);
  expect(attempts[0]).toBeGreaterThan(10_000 / 250);
  expect(attempts[1]).toBe(0);
  busy = false;
  expect(await write(2)).toBe("written");
  expect(attempts[2]).toBe(1);
});

test("a long write of this process does not make the next one fail sooner", async () => {
  const clock = new VirtualClock();
  const queue = new WriteQueue({ clock, random: () => 0.5 });
  const long = queue.run({ account: "a" }, () => clock.sleep(20_000));
  let busy = true;
  const next = queue.run({ account: "b" }, async () => {
    if (busy) throw new BusyFileError();
    return "written";
  });
  await clock.advance(20_000);
  await long;
  await clock.advance(9_000);
  busy = false;
  await clock.advance(250);
  expect(await next).toBe("written");
});
