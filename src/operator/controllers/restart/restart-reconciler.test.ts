import { expect, test } from "vitest";
import { KubeError } from "../../kube/kube-error.ts";
import { RestartScene } from "../../../../test/lab/kube/restart-scene.ts";

const WEB = { kind: "Deployment", name: "web" } as const;

test("a denied write of a status is not reported as a failed restart of the workload", async () => {
  await using scene = await RestartScene.start("db");
  scene.workload("Deployment", "web");
  scene.follow("db", WEB);
  await scene.settle();
  scene.lists({ db: 2 });
  await scene.settle(10_000);
  let denied = 0;
  scene.operator.network = {
    send: ({ verb, resource }) => {
      if (verb !== "update" || resource.plural !== "vaultsecrets") return;
      denied += 1;
      throw new KubeError({ kind: "Forbidden", operation: "update vaultsecrets/status" });
    },
  };
  await scene.settle(30_000);
  expect(denied).toBeGreaterThan(0);
  expect(scene.count("Deployment", "web")).toBe(1);
  expect(scene.operator.restarts).toEqual([]);
  expect(scene.operator.events.filter(({ type }) => type === "Warning")).toEqual([]);
});
