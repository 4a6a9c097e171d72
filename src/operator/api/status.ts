import { z } from "zod";

/** The status contract of every kind that syncs. Source: design, "Status contract". Moments are RFC 3339 strings. */

export const conditionTypes = ["Ready", "Reconciling", "Stalled", "Stale", "UpdateAvailable", "ExpiringSoon"] as const;
export type ConditionType = (typeof conditionTypes)[number];

const moment = z.string().meta({ format: "date-time" });

export const conditionSchema = z.object({
  type: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: moment,
  observedGeneration: z.int().optional(),
});
export type Condition = z.output<typeof conditionSchema>;

export const conditions = z
  .array(conditionSchema)
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
  .optional();

/** At most this many items are listed in a status; `itemsOmitted` counts the rest. */
export const MAX_STATUS_ITEMS = 64;

/** What a status says of one item beside its names. */
const itemFacts = {
  version: z.int().optional().describe("The version whose bytes the target holds."),
  latest: z.int().optional().describe("The latest version the vault lists."),
  expiresAt: moment.optional().describe("When the vault counts this version as expired."),
  deleteAt: moment.optional().describe("When the vault removes it."),
};

const secretItem = z.object({
  secretKey: z.string().describe("The key of the target."),
  key: z.string().describe("The secret's name in the vault."),
  ...itemFacts,
});

const fileItem = z.object({
  key: z.string().describe("The key of the target."),
  filename: z.string().describe("The file's name in the vault."),
  ...itemFacts,
});

function syncStatus<T extends z.ZodType>(item: T) {
  return z.object({
    observedGeneration: z.int().optional().describe("The generation the conditions speak of, also after a failed attempt."),
    conditions,
    target: z.object({ kind: z.string(), name: z.string() }).optional(),
    items: z.array(item).max(MAX_STATUS_ITEMS).optional(),
    itemsOmitted: z.int().optional().describe("How many items are not listed here."),
    syncedAt: moment.optional().describe("When the target's bytes last changed."),
  });
}

export const secretStatus = syncStatus(secretItem);
export const fileStatus = syncStatus(fileItem);
export type SecretItemStatus = z.output<typeof secretItem>;
export type FileItemStatus = z.output<typeof fileItem>;
