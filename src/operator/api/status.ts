import { z } from "zod";

/** Types of the conditions; see docs/design/status.md#conditions. */
export const conditionTypes = [
  "Ready",
  "Reconciling",
  "Stalled",
  "Stale",
  "RemovalsHeld",
  "UpdateAvailable",
  "Held",
  "ExpiringSoon",
  "Converged",
] as const;
export type ConditionType = (typeof conditionTypes)[number];

/** RFC 3339. */
export const timestamp = z.string().meta({ format: "date-time" });

const conditionSchema = z.object({
  type: z.string().describe("Type of the condition, unique in the list."),
  status: z.enum(["True", "False", "Unknown"]).describe("Whether the condition applies."),
  reason: z.string().describe("Machine-readable reason, one of a closed list."),
  message: z.string().describe("Details for a user; never a value."),
  lastTransitionTime: timestamp.describe("Time of the last change of the condition's status."),
  observedGeneration: z
    .int()
    .optional()
    .describe("Generation of the spec that the condition refers to."),
});
export type Condition = z.output<typeof conditionSchema>;

export const conditions = z
  .array(conditionSchema)
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
  .optional()
  .describe(
    "Current conditions; all but Ready and Converged are present only while they are true. Ready: in sync. Reconciling: the last attempt failed and is retried. " +
      "Stalled: a user has to act, or there is no target after five minutes. Stale: no list of the vault for more than three intervals. RemovalsHeld: removals wait for a confirmation. " +
      "UpdateAvailable: a newer version is not followed. Held: the annotation vaultsync.dev/hold keeps the versions. ExpiringSoon: a version or a certificate expires within spec.expiryNotice, or has expired. " +
      "Converged: every pod that uses the target runs the content of its last change; absent if no pod used it at that time, or if the operator does not see workloads.",
  );

/** Maximum number of items listed in a status; `itemsOmitted` counts the rest. */
export const MAX_STATUS_ITEMS = 64;

/** Fields of an item in the status, in addition to its names. */
const itemFacts = {
  version: z
    .int()
    .optional()
    .describe("Version stored in the target, or the last one if the target does not exist."),
  otherVault: z
    .boolean()
    .optional()
    .describe(
      "The target has bytes of another vault under this key, from before the connection was changed.",
    ),
  unconfirmed: z
    .boolean()
    .optional()
    .describe(
      "The source of these bytes disappeared together with many others, and no user has confirmed their removal: see the condition RemovalsHeld of the connection.",
    ),
  latest: z.int().optional().describe("Latest version in the vault's list."),
  expiresAt: timestamp.optional().describe("Time at which this version expires."),
  notBefore: timestamp
    .optional()
    .describe("Time from which the certificate of this version is valid."),
  notAfter: timestamp.optional().describe("Time at which that certificate expires."),
  deleteAt: timestamp.optional().describe("Time at which the vault removes the source."),
};

const secretItem = z.object({
  secretKey: z
    .string()
    .describe("Key of the target, or the entry of dataFrom if it makes up several."),
  key: z.string().describe("Name of the secret in the vault."),
  owner: z
    .string()
    .optional()
    .describe("Creator of the secret, if it is not the account of the connection."),
  ...itemFacts,
});

const fileItem = z.object({
  key: z.string().describe("Key of the target."),
  filename: z.string().describe("Name of the file in the vault."),
  ...itemFacts,
});

/** Maximum number of workloads listed in a status: those that were restarted last. */
export const MAX_STATUS_RESTARTS = 32;

/** Maximum number of earlier targets in a status. */
export const MAX_FORMER_TARGETS = 8;

const restarts = z
  .array(
    z.object({
      kind: z.string().describe("Kind of the workload."),
      name: z.string().describe("Name of the workload."),
      result: z
        .enum(["Progressing", "RolledOut", "Failed", "TimedOut", "NotFound"])
        .describe(
          "Result of the last restart. NotFound: spec.rolloutRestart names a workload that does not exist.",
        ),
      time: timestamp.optional().describe("Time of the last restart."),
      message: z
        .string()
        .optional()
        .describe("Details of a restart that failed, or that waits for something."),
    }),
  )
  .max(MAX_STATUS_RESTARTS)
  .optional()
  .describe("The last restart of each workload that uses the target.");
export type RestartStatus = NonNullable<z.output<typeof restarts>>[number];

function syncStatus<T extends z.ZodType>(item: T) {
  return z.object({
    observedGeneration: z
      .int()
      .optional()
      .describe("Generation that the conditions refer to, also after a failed reconciliation."),
    conditions,
    target: z
      .object({
        kind: z.string().describe("Kind of the target: Secret or ConfigMap."),
        name: z.string().describe("Name of the target, in the same namespace."),
        resourceVersion: z
          .string()
          .optional()
          .describe("resourceVersion of the target after the last write."),
        digest: z
          .string()
          .optional()
          .describe(
            "HMAC of the bytes of the target; a change restarts the workloads of spec.rolloutRestart.",
          ),
      })
      .optional()
      .describe(
        "Target that was last in sync; before the first sync, the one that the spec names.",
      ),
    formerTargets: z
      .array(z.string())
      .max(MAX_FORMER_TARGETS)
      .optional()
      .describe("Earlier targets, Kind/name, that pods may still use: until Converged is True."),
    connection: z
      .string()
      .optional()
      .describe("Digest of the connection whose list the items are from."),
    items: z
      .array(item)
      .max(MAX_STATUS_ITEMS)
      .optional()
      .describe("State of each key of the target."),
    itemsOmitted: z.int().optional().describe("Number of items that are not listed here."),
    approvalDigest: z
      .string()
      .optional()
      .describe(
        "Digest of the newest versions of all sources, while spec.updates.approval waits: the value of the annotation vaultsync.dev/approve that approves them.",
      ),
    lastForceSync: z
      .string()
      .optional()
      .describe("Value of the annotation vaultsync.dev/force-sync at the last forced sync."),
    syncedAt: timestamp
      .optional()
      .describe("Time of the last change to the content of the target."),
    restarts,
  });
}

/** Status of a VaultSecret. */
export const secretStatus = syncStatus(secretItem);
/** Status of a VaultFile. */
export const fileStatus = syncStatus(fileItem);
export type SecretItemStatus = z.output<typeof secretItem>;
export type FileItemStatus = z.output<typeof fileItem>;
