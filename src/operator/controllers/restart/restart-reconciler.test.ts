import { expect, test } from "vitest";
import { KubeError } from "../../kube/kube-error.ts";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";

const WEB = { kind: "Deployment", name: "web" } as const;

test("a denied write of a status is not reported as a failed restart of the workload", async () => {
  await using scene = await SimulatedWorld.shop("db");
  scene.workloads.create("Deployment", "web");
  scene.follow({ password: "db" }, { name: "db", rolloutRestart: [WEB] });
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2 });
  await scene.settle(10_000);
  let denied = 0;
  scene.network = {
    send: ({ verb, resource }) => {
      if (verb !== "update" || resource.plural !== "vaultsecrets") return;
      denied += 1;
      throw new KubeError({ kind: "Forbidden", operation: "update vaultsecrets/status" });
    },
  };
  await scene.settle(30_000);
  expect(denied).toBeGreaterThan(0);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
  expect(await scene.workloads.ended()).toEqual([]);
  expect(scene.events.filter(({ type }) => type === "Warning")).toEqual([]);
});
