import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { PodParts } from "../lab/simulated/pods.ts";
import { change, MINUTE, type Scene, started, TARGET } from "../operator/convergence/scene.ts";

/** Every cell of the table in docs/status.md#converged, on a virtual clock. */
const page = readFileSync("docs/status.md", "utf8");
const rows = (page.split("\n### Converged\n")[1]?.split("\n## ")[0] ?? "")
  .split("\n| Pod |")[1]!
  .split("\n\n")[0]!
  .split("\n")
  .slice(2)
  .map((row) => row.split("|").map((cell) => cell.trim().replaceAll("`", "")));

const uses: Readonly<Record<string, PodParts>> = {
  env: { env: [TARGET] },
  subPath: { subPaths: [TARGET] },
  volume: { volumes: [TARGET] },
};
const cells = rows.flatMap(([, pod = "", ...reasons]) =>
  Object.keys(uses).map((use, n) => ({ pod, use, reason: reasons[n] ?? "" })),
);

interface Case {
  /** Controller of the pod. */
  readonly owner?: string;
  /** Spec of the workload. */
  readonly workload?: object;
  /** Called after the change. */
  readonly afterwards?: (scene: Scene) => void;
}

const cases: Readonly<Record<string, Case>> = {
  "of a Deployment that replaces it": {
    owner: "Deployment/web",
    workload: {},
    afterwards: ({ pods }) => pods.remove("web-0"),
  },
  "that terminates and is not gone": {
    owner: "Deployment/web",
    workload: {},
    afterwards: ({ pods, world }) => {
      pods.terminate("web-0");
      world.workloads.rollOut("web");
    },
  },
  "of a paused Deployment in rolloutRestart": {
    owner: "Deployment/web",
    workload: { paused: true },
  },
  "of a StatefulSet with OnDelete in rolloutRestart": {
    owner: "StatefulSet/web",
    workload: { updateStrategy: { type: "OnDelete" } },
  },
  "of a workload that nothing restarts": { owner: "StatefulSet/other" },
  "without a controller": {},
  "of a Job that runs": { owner: "Job/web" },
  "of a Job that has completed": {
    owner: "Job/web",
    afterwards: ({ pods }) => pods.complete("web-0"),
  },
};

test("the table has a row for each case", () => {
  expect(rows.map(([, pod]) => pod)).toEqual(Object.keys(cases));
});

test.each(cells)(
  "a pod $pod that uses the target by $use: $reason",
  async ({ pod, use, reason }) => {
    const { owner, workload, afterwards } = cases[pod]!;
    const kind = owner?.startsWith("StatefulSet/") === true ? "StatefulSet" : "Deployment";
    await using scene = await started({ rolloutRestart: [{ kind, name: "web" }] });
    const { world, pods } = scene;
    if (workload !== undefined) world.workloads.create(kind, "web", { spec: workload });
    pods.create("web-0", { ...uses[use], ...(owner !== undefined && { owner, hash: "a" }) });
    await change(scene, 2, MINUTE);
    afterwards?.(scene);
    await world.settle(10 * MINUTE);
    expect(world.condition("Converged")?.reason).toBe(reason);
  },
);
