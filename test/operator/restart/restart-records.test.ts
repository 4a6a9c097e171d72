import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { RESTART_STATE_ANNOTATION } from "../../../src/operator/api/names.ts";

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
