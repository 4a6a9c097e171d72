import { z } from "zod";
import { objectName } from "./fields.ts";
import { isSelected, type Labels, namespaceSelector } from "./namespace-selector.ts";
import { withRule } from "./validation.ts";
import { fileStatus, secretStatus } from "./status.ts";

const EXAMPLE = "namespaceSelector: {matchLabels: {team: shop}}";

const namespaces = z
  .array(objectName("Namespace"))
  .min(1)
  .max(256)
  .meta({ "x-kubernetes-list-type": "set" })
  .optional()
  .describe("Names of namespaces. One that does not exist gets the target when it is created.");

/** The fields that say in which namespaces a resource has a target. */
const selection = {
  namespaces,
  namespaceSelector: namespaceSelector
    .optional()
    .describe("Selects namespaces by their labels, in addition to those that are named."),
};

/** The fields of a spec that only resources for several namespaces have. */
export const fanOutFields = {
  connectionRef: z
    .object({
      kind: z
        .literal("ClusterVaultConnection")
        .describe("Kind of the connection; its access decides for each namespace."),
      name: objectName("ClusterVaultConnection").describe("Name of that connection."),
    })
    .describe("The connection through which the operator reads the vault for all namespaces."),
  ...selection,
};

/** Requires that a spec selects namespaces. */
export function selectsNamespaces<
  T extends z.ZodType<{
    readonly namespaces?: readonly string[] | undefined;
    readonly namespaceSelector?: object | undefined;
  }>,
>(spec: T): T {
  return withRule(spec, {
    cel: "has(self.namespaces) || has(self.namespaceSelector)",
    message: `spec.namespaces or spec.namespaceSelector must select namespaces, for example ${EXAMPLE}`,
    check: (value) => value.namespaces !== undefined || value.namespaceSelector !== undefined,
  });
}

/** The part of a spec that selects namespaces. */
const namespaceSelection = selectsNamespaces(z.object(selection));
export type NamespaceSelection = z.output<typeof namespaceSelection>;

/** Returns what a spec selects; `undefined` if it does not say so validly. */
export const selectionOf = (spec: unknown): NamespaceSelection | undefined =>
  namespaceSelection.safeParse(spec).data;

/**
 * Reports whether a selection selects a namespace; `unknown` if that depends on its labels, and
 * these are not known.
 */
export function selects(
  selected: NamespaceSelection,
  namespace: string,
  labels: Labels | undefined,
): boolean | "unknown" {
  if (selected.namespaces?.includes(namespace) === true) return true;
  if (selected.namespaceSelector === undefined) return false;
  return labels === undefined ? "unknown" : isSelected(selected.namespaceSelector, labels);
}

/** Maximum number of namespaces listed in a status as not ready. */
export const MAX_STATUS_FAILURES = 20;

/** Fields that the status of a resource with one target does not have. */
const counts = {
  target: z
    .object({
      kind: z.string().describe("Kind of the targets: Secret or ConfigMap."),
      name: z.string().describe("Name of the targets."),
    })
    .optional()
    .describe("Target that all namespaces have last had in sync."),
  namespaces: z
    .object({
      selected: z.int().describe("Number of namespaces that the spec selects and that exist."),
      ready: z.int().describe("Number of those whose target is in sync."),
      failed: z.int().describe("Number of those whose target is not."),
    })
    .optional()
    .describe("Counts of namespaces."),
  failures: z
    .array(
      z.object({
        namespace: z.string().describe("Name of the namespace."),
        reason: z.string().describe("Reason of its condition Ready."),
        message: z.string().describe("Details for a user; never a value."),
      }),
    )
    .max(MAX_STATUS_FAILURES)
    .optional()
    .describe("The first namespaces, by name, whose target is not in sync."),
};

const shared = {
  observedGeneration: true,
  conditions: true,
  connection: true,
  items: true,
  itemsOmitted: true,
  approvalDigest: true,
  lastForceSync: true,
  syncedAt: true,
} as const;

/** Status of a ClusterVaultSecret: its items are of a namespace in sync, if there is one. */
export const clusterSecretStatus = secretStatus.pick(shared).extend(counts);
/** Status of a ClusterVaultFile. */
export const clusterFileStatus = fileStatus.pick(shared).extend(counts);
export type FanOutStatus =
  | z.output<typeof clusterSecretStatus>
  | z.output<typeof clusterFileStatus>;
