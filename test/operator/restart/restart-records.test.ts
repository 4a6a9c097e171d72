import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";
import { data, remove, synced } from "../../lab/kube/removed-sources.ts";
import { StatusError } from "../../lab/simulated/api-server/status-error.ts";

const WEB = { kind: "Deployment", name: "web" } as const;

/** Starts an operator that follows the secret `db` and restarts a Deployment for it. */
async function followed(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop("db");
  scene.workloads.create("Deployment", "web");
  scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
  await scene.settle();
  return scene;
}

/** Removes or replaces the record of the Deployment, as another writer does. */
const setRecord = (scene: SimulatedWorld, text: string | null): void =>
  scene.workloads.patch("Deployment", "web", {
    metadata: { annotations: { [RESTART_STATE_ANNOTATION]: text } },
  });

describe("a workload", () => {
  test("whose record another writer reverts repeatedly is restarted once", async () => {
    await using scene = await followed();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(35_000);
    const { annotations = {} } = scene.workloads.get("Deployment", "web").metadata;
    const former = (annotations[RESTART_STATE_ANNOTATION] ?? "").replace(
      /"VaultSecret\/db":"(\w+)\.[^"]+"/,
      '"VaultSecret/db":"$1.x"',
    );
    let writes = 0;
    scene.server.onCommit(
      ({ resource }) => void (writes += Number(resource.kind === "Deployment")),
    );
    for (let round = 0; round < 60; round += 1) {
      setRecord(scene, former);
      await scene.settle(10_000);
    }
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    expect(writes).toBeLessThan(2 * 60);
  });

  // Found by the simulation.
  test("is restarted for a former content again after another one was recorded without a restart", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().serves({ db: "one" });
    scene.workloads.create("Deployment", "web");
    scene.follow({ password: "db" }, { rolloutRestart: [WEB] });
    await scene.settle();
    scene.vault().serves({ db: "two" }, 2);
    await scene.settle(60_000);
    scene.vault().serves({ db: "three" }, 3);
    await scene.settle(5_000);
    // A rollback of another tool: its pods start with the content of the third version.
    scene.workloads.patch("Deployment", "web", {
      metadata: { annotations: { [RESTART_STATE_ANNOTATION]: null } },
      spec: { template: { metadata: { annotations: { note: "former" } } } },
    });
    await scene.settle(60_000);
    expect(scene.outcome()).toBe("password=three, Synced");
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
    scene.vault().serves({ db: "two" }, 4);
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(2);
  });

  test.each([0, 400_000])(
    "whose record is removed in the quiet window is restarted at its end (record %i ms old)",
    async (age) => {
      await using scene = await followed();
      await scene.settle(age);
      scene.vault().lists({ name: "db", version: 2 });
      await scene.settle(5_000);
      setRecord(scene, null);
      await scene.settle(60_000);
      expect(scene.workloads.count("Deployment", "web")).toBe(1);
      expect(scene.workloads.recorded("Deployment", "web")).toEqual(["VaultSecret/db"]);
    },
  );

  // Found by a review: only another template starts pods.
  test.each([
    ["is restarted for a waiting change", { spec: { replicas: 3 } }, 1],
    [
      "has started its pods",
      { spec: { template: { metadata: { annotations: { note: "new" } } } } },
      0,
    ],
  ])("whose record is removed with a change of its spec %s: %j", async (_, change, restarts) => {
    await using scene = await followed();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(5_000);
    const metadata = { annotations: { [RESTART_STATE_ANNOTATION]: null } };
    scene.workloads.patch("Deployment", "web", { metadata, ...change });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(restarts);
    expect(scene.workloads.recorded("Deployment", "web")).toEqual(["VaultSecret/db"]);
  });

  test("whose record is removed before a change is restarted for it", async () => {
    await using scene = await followed();
    setRecord(scene, null);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(60_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(1);
  });

  test("whose content digest is under another key is recorded without a restart", async () => {
    await using scene = await followed();
    const former = JSON.stringify({ sources: { "VaultSecret/db": "former.digest" } });
    await scene.replace();
    setRecord(scene, former);
    await scene.settle(120_000);
    expect(scene.workloads.count("Deployment", "web")).toBe(0);
    expect(
      scene.workloads.get("Deployment", "web").metadata.annotations?.[RESTART_STATE_ANNOTATION],
    ).not.toBe(former);
  });
});

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

const VALUES = { username: "ann", password: "secret", more: "1" };
const keys = data("username", "password", "more");
const rolloutRestart = [{ kind: "Deployment", name: "web" }];

/** Starts an operator that restarts a Deployment for a target whose type the spec has changed. */
async function retyped(): Promise<SimulatedWorld> {
  const scene = await synced(VALUES, { data: keys, rolloutRestart });
  scene.workloads.create("Deployment", "web");
  const target = { type: "kubernetes.io/basic-auth" };
  scene.follow({}, { data: keys, target, rolloutRestart });
  await scene.settle();
  return scene;
}

// Found by a review: the status kept the digest of the former bytes.
test("a workload is restarted when a key leaves a target whose type has changed", async () => {
  await using scene = await retyped();
  await remove(scene, VALUES, "password");
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  await scene.replace();
  await scene.settle(3_600_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a workload is restarted for a removal whose status cannot be written immediately", async () => {
  await using scene = await retyped();
  scene.network = {
    send: ({ verb, resource }) => {
      const isStatus = verb === "update" && resource.kind === "VaultSecret";
      if (isStatus && scene.target()?.data?.["password"] === undefined)
        throw new StatusError(500, "InternalError");
    },
  };
  await remove(scene, VALUES, "password");
  scene.network = {};
  await scene.settle(180_000);
  expect(scene.outcome()).toBe("more=1 username=ann, TargetImmutable");
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a workload is restarted when a key leaves a former target that stays", async () => {
  await using scene = await synced(VALUES, { data: keys, rolloutRestart });
  scene.workloads.create("Deployment", "web");
  scene.vault().lists({ name: "username" }, { name: "password" });
  scene.follow({}, { data: keys, target: { name: "new" }, rolloutRestart });
  await scene.settle();
  await remove(scene, { username: "ann", password: "secret" }, "password");
  await scene.settle(60_000);
  expect(scene.outcome()).toBe("more=1 username=ann, SourceMissing");
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  await scene.replace();
  await scene.settle(3_600_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});
