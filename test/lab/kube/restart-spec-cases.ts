import { type Case, rejectedByRule, rejectedBySchema } from "./spec-row.ts";

const WEB = { kind: "Deployment", name: "web" };
const reference = "must have either name or selector";

const labels = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`label-${n}`, "x"]));

/** Cases of `spec.rolloutRestart`, of the specs that `make` returns with it. */
export function restartCases(make: (changes: object) => object): Case[] {
  const restarting = (...rolloutRestart: readonly object[]): object => make({ rolloutRestart });
  const selecting = (matchLabels: object): object =>
    restarting({ kind: "Rollout", selector: { matchLabels } });
  return [
    ["no workloads", restarting()],
    [
      "a workload of each kind",
      restarting(
        ...["Deployment", "StatefulSet", "DaemonSet", "Rollout"].map((kind) => ({ ...WEB, kind })),
      ),
    ],
    ["16 workloads", restarting(...Array.from({ length: 16 }, () => WEB))],
    [
      "17 workloads",
      restarting(...Array.from({ length: 17 }, () => WEB)),
      rejectedBySchema("<=16 items"),
    ],
    ["workloads of 16 labels", selecting(labels(16))],
    ["workloads of 17 labels", selecting(labels(17)), rejectedBySchema("must have 1 to 16 labels")],
    ["workloads without labels", selecting({}), rejectedBySchema("must have 1 to 16 labels")],
    [
      "workloads with a label of 64 characters",
      selecting({ app: "x".repeat(64) }),
      rejectedBySchema("<=63 characters"),
    ],
    [
      "a workload of another kind",
      restarting({ ...WEB, kind: "Pod" }),
      rejectedBySchema("Invalid option"),
    ],
    [
      "a workload in another namespace",
      restarting({ ...WEB, name: "other/web" }),
      rejectedByRule("must be the name of one workload"),
    ],
    ["a workload without a name", restarting({ kind: "Deployment" }), rejectedByRule(reference)],
    [
      "a workload with a name and a selector",
      restarting({ ...WEB, selector: { matchLabels: { app: "web" } } }),
      rejectedByRule(reference),
    ],
  ];
}
