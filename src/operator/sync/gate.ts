import { z } from "zod";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { HOLD_ANNOTATION } from "../api/names.ts";
import { explainProblems } from "../api/validation.ts";
import type { Hold, SyncItem, SyncResource } from "./sync-resource.ts";

/** Versions of a hold of everything. */
const ALL = "*";
const MAX_NOTE_CHARACTERS = 200;

const note = z
  .string()
  .max(1_000)
  .transform((text) => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim());

const holdSchema = z.strictObject({
  versions: z.union([z.literal(ALL), z.record(z.string(), z.int().min(1))], {
    error: `expected "${ALL}" or a version for each key`,
  }),
  reason: note.optional(),
  by: note.optional(),
  at: note.optional(),
});

const NOTHING: ReadonlyMap<string, number> = new Map();

/**
 * Parses the annotation vaultsync.dev/hold: `*`, or JSON with `versions`, and `reason`, `by` and
 * `at` for messages. A hold that cannot be parsed holds everything.
 */
export function parseHold(text: string | undefined): Hold | undefined {
  if (text === undefined) return undefined;
  if (text.trim() === ALL) return { versions: NOTHING, note: "" };
  const parsed = holdSchema.safeParse(jsonOrUndefined(text));
  if (!parsed.success) {
    const problem = `${HOLD_ANNOTATION}: ${explainProblems(parsed.error)}`;
    return { versions: NOTHING, note: "", problem };
  }
  const { versions, reason = "", by = "", at = "" } = parsed.data;
  const who = [by === "" ? "" : `by ${by}`, at].filter((part) => part !== "").join(" at ");
  const noted = [who, reason].filter((part) => part !== "").join(": ");
  return {
    versions: versions === ALL ? NOTHING : new Map(Object.entries(versions)),
    note: noted.length > MAX_NOTE_CHARACTERS ? `${noted.slice(0, MAX_NOTE_CHARACTERS)}…` : noted,
  };
}

/** Why a target does not follow the latest version of an item yet. */
export interface Gate {
  readonly reason: "Held" | "RefreshInterval";
  /** The version that is served instead; `undefined`: the one that the target has. */
  readonly version?: number | undefined;
  /** Time in milliseconds after which the gate opens by itself. */
  readonly opensInMs?: number | undefined;
}

/**
 * Returns the gate that keeps an item from following the latest version; `undefined` if none does.
 * Without a version to keep, nothing is held: a target is created with the latest ones.
 *
 * @param refreshInMs time until the end of `spec.refreshInterval`; 0 if the resource does not wait
 * @param hasBytes the target has bytes of the item
 */
export function closedGate(
  { hold }: SyncResource,
  { id }: SyncItem,
  refreshInMs: number,
  hasBytes: boolean,
): Gate | undefined {
  if (hold !== undefined) return { reason: "Held", version: hold.versions.get(id) };
  return refreshInMs > 0 && hasBytes
    ? { reason: "RefreshInterval", opensInMs: refreshInMs }
    : undefined;
}
