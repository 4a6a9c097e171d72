import { z } from "zod";
import { objectName } from "./fields.ts";
import { type TimeWindow, timeWindows } from "../lib/window.ts";
import { windows } from "./updates.ts";
import { withRule } from "./validation.ts";

/** Kinds of workloads that can be restarted; `Rollout` is the kind of Argo Rollouts. */
export const workloadKinds = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

const MAX_REFERENCES = 16;
const MAX_LABELS = 16;
const MAX_LABEL_LENGTH = 63;
const EXAMPLE = "{kind: Deployment, name: web}";

const matchLabels = z
  .record(z.string(), z.string().max(MAX_LABEL_LENGTH))
  .refine((labels) => {
    const { length } = Object.keys(labels);
    return length > 0 && length <= MAX_LABELS;
  }, `must have 1 to ${MAX_LABELS} labels, for example app: web`)
  .meta({ minProperties: 1, maxProperties: MAX_LABELS })
  .describe("Labels that a workload must have, all of them.");

const reference = withRule(
  z.object({
    kind: z
      .enum(workloadKinds)
      .describe("Kind of the workload; Rollout is the kind of Argo Rollouts."),
    name: objectName("workload")
      .optional()
      .describe("Name of the workload, in the same namespace."),
    selector: z
      .object({ matchLabels })
      .optional()
      .describe("Selects the workloads by their labels, in the same namespace."),
    windows: windows.describe(
      "Times in which the workloads are restarted; changes wait for the next one. Defaults to always.",
    ),
  }),
  {
    cel: "has(self.name) != has(self.selector)",
    message: `must have either name or selector, for example ${EXAMPLE}`,
    check: ({ name, selector }) => (name === undefined) !== (selector === undefined),
  },
);

/** Workloads of the same namespace; none by default. */
export const rolloutRestart = z
  .array(reference)
  .max(MAX_REFERENCES)
  .optional()
  .describe(
    "Workloads of the same namespace that are restarted when the bytes of the target change: once for all changes within the quiet window, " +
      "and never on the first sync. Defaults to none.",
  );
export type RestartReference = z.output<typeof reference>;

interface Restartable {
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Reports whether a reference names or selects a workload. */
export function refersTo(
  { kind, name, selector }: RestartReference,
  workload: Restartable,
): boolean {
  if (kind !== workload.kind) return false;
  if (selector === undefined) return name === workload.name;
  return Object.entries(selector.matchLabels).every(
    ([label, value]) => workload.labels[label] === value,
  );
}

/** Returns the windows in which references restart a workload; none: always. */
export function restartWindows(
  references: readonly RestartReference[],
  workload: Restartable,
): readonly TimeWindow[] {
  const all = references.filter((one) => refersTo(one, workload)).map((one) => one.windows ?? []);
  return all.some(({ length }) => length === 0) ? [] : timeWindows(all.flat());
}
