import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { syncItem, syncResource } from "../../../../test/lab/kube/sync-resource.ts";
import { repairDelay } from "../outcome/repair-count.ts";
import { afterRepair, calmDelay, type Repairs } from "./repairs.ts";

const MINUTE = 60_000;
const resource = syncResource([syncItem("a")]);

/** Returns the repairs of a target that was repaired at these times. */
const repairedAt = (...times: number[]): Repairs | undefined =>
  times.reduce<Repairs | undefined>(
    (before, now) => afterRepair(resource, before, now, true),
    undefined,
  );

describe("a target that another writer changes", () => {
  test("is repaired immediately twice within a minute, then after 5 s", () => {
    expect(repairDelay(undefined, 0)).toBe(0);
    expect(repairDelay(repairedAt(1_000), 1_000)).toBe(0);
    expect(repairDelay(repairedAt(1_000, 2_000), 2_000)).toBe(5_000);
    expect(repairDelay(repairedAt(1_000, 2_000), 6_000)).toBe(1_000);
    expect(repairDelay(repairedAt(1_000, 2_000), 8_000)).toBe(0);
  });

  test("is repaired immediately each time if that happens once per minute", () => {
    expect(repairDelay(repairedAt(0, MINUTE, 2 * MINUTE), 2 * MINUTE)).toBe(0);
    expect(repairDelay(repairedAt(0, MINUTE - 1), MINUTE - 1)).toBe(5_000);
  });

  test("is repaired with delays that double up to 5 minutes", () => {
    const delays: number[] = [];
    let repairs = repairedAt(0);
    for (let now = 0; delays.length < 9;) {
      now += repairDelay(repairs, now);
      repairs = afterRepair(resource, repairs, now, true);
      delays.push(repairDelay(repairs, now) / 1_000);
    }
    expect(delays).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  test("counts as contested from the third repair on, and no longer after 10 minutes without one", () => {
    const contested = repairedAt(0, 1_000, 6_000);
    const once = repairedAt(0);
    const twice = repairedAt(0, 1_000);
    expect([once, twice, contested].map((repairs) => calmDelay(repairs, 6_000) > 0)).toEqual([
      false,
      false,
      true,
    ]);
    const after = (ms: number): Repairs => afterRepair(resource, contested, 6_000 + ms, true);
    expect(after(10 * MINUTE - 1).count).toBe(4);
    expect(after(10 * MINUTE).count).toBe(1);
  });

  test("has a condition that says who has to act", () => {
    expect(repairedAt(0)?.condition).toEqual({
      ready: false,
      reason: "TargetContested",
      message:
        "another writer changes the Secret db each time it is repaired: stop it, or choose another target.name",
    });
  });

  test("counts as calm after the next delay, at most a minute", () => {
    expect(calmDelay(undefined, 0)).toBe(0);
    expect(calmDelay(repairedAt(0, 1_000), 1_000)).toBe(0);
    expect(calmDelay(repairedAt(0, 1_000, 6_000), 7_000)).toBe(9_000);
    expect(calmDelay(repairedAt(0, 0, 0, 0, 0, 0), 0)).toBe(MINUTE);
  });
});

test("a target that was repaired twice within a minute is in sync, and contested the third time", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  for (const value of ["edit 1", "edit 2"]) {
    scene.edit({ password: value });
    await scene.settle(1_000);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  }
  scene.edit({ password: "edit 3" });
  await scene.settle(6_000);
  expect(scene.outcome()).toBe("password=vault db@1, TargetContested");
});

describe("a target that admission changes while it is written", () => {
  test("is written again after 5 s, and names the webhook as the reason", () => {
    const rejected = afterRepair(resource, undefined, 1_000, false);
    expect(rejected.condition).toEqual({
      ready: false,
      reason: "TargetRejected",
      message:
        "an admission webhook changed the Secret db while it was written: exclude it from the webhook",
    });
    expect(repairDelay(rejected, 1_000)).toBe(5_000);
    expect(repairDelay(afterRepair(resource, rejected, 6_000, false), 6_000)).toBe(10_000);
  });
});
