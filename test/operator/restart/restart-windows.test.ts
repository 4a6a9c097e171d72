import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Starts an operator that restarts a workload from 02:00 to 03:00, at 00:30. */
async function restarting(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  const untilMidnight = DAY - (scene.clock.now() % DAY);
  await scene.settle(untilMidnight + HOUR / 2);
  scene.workloads.create("Deployment", "web");
  const windows = [{ schedule: "0 2 * * *", duration: "1h" }];
  scene.follow(
    { password: "db" },
    { rolloutRestart: [{ kind: "Deployment", name: "web", windows }] },
  );
  await scene.settle();
  return scene;
}

const count = (scene: SimulatedWorld): number => scene.workloads.count("Deployment", "web");

test("a workload is restarted in its window, once for all changes before, also after a restart", async () => {
  await using scene = await restarting();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("password=vault db@2, Synced");
  const [shown] = scene.workloads.shown("db");
  expect(shown?.result).toBe("Progressing");
  expect(shown?.message).toMatch(/^waits: its next window opens at .*T02:00:00\.000Z$/u);
  scene.takeRequests();
  await scene.settle(HOUR / 2);
  expect(scene.takeRequests()).toEqual([]);
  await scene.replace();
  scene.vault().lists({ name: "db", version: 3 });
  await scene.settle(HOUR / 4);
  expect(count(scene)).toBe(0);
  await scene.settle(HOUR);
  expect(count(scene)).toBe(1);
});

test("a change within the window restarts the workload at the end of the quiet window", async () => {
  await using scene = await restarting();
  await scene.settle(1.75 * HOUR);
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(35_000);
  expect(count(scene)).toBe(1);
  expect(scene.workloads.shown("db")[0]?.message ?? "").not.toContain("window");
});

test("an edit that removes the windows restarts the workload", async () => {
  await using scene = await restarting();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(60_000);
  expect(count(scene)).toBe(0);
  scene.follow({ password: "db" }, { rolloutRestart: [{ kind: "Deployment", name: "web" }] });
  await scene.settle(60_000);
  expect(count(scene)).toBe(1);
});
