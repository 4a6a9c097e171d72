import { z } from "zod";
import { jsonOrUndefined } from "../../lib/json-or-undefined.ts";
import { APPROVE_ANNOTATION, HOLD_ANNOTATION } from "../api/names.ts";
import { explainProblems } from "../api/validation.ts";
import type { Freeze } from "./freeze.ts";
import { note } from "./note.ts";
import type { Gate, Resolution } from "./resolution.ts";
import type { Hold, SyncItem, SyncResource } from "./sync-resource.ts";
import { shortDigest, sourceId } from "./target.ts";
import { nextOpening, type TimeWindow } from "../lib/window.ts";

/** Versions of a hold of everything. */
const ALL = "*";
const MAX_NOTE_CHARACTERS = 200;

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

/** What a gate of a whole resource depends on. */
export interface UpdateFacts {
  /** The freeze of the namespace. */
  readonly freeze: Freeze | undefined;
  /** Returns the digest of the newest versions: see `versionsDigest`. */
  readonly digest: () => string;
  readonly now: number;
}

/**
 * Returns the gate that keeps all items of a resource from following newer versions; `undefined` if
 * none does. A hold comes first, an interval last: see {@link closedGate}. The caller opens it for a
 * first creation and a changed spec.
 */
export function closedForAll(
  resource: Pick<SyncResource, "kind" | "name" | "updates" | "approved">,
  { freeze, digest: digestOf, now }: UpdateFacts,
): Gate | undefined {
  if (freeze !== undefined)
    return { reason: "Frozen", opensInMs: freeze.endsAt - now, until: freeze.text };
  const { needsApproval = false, windows = [] } = resource.updates ?? {};
  return (
    (needsApproval ? approvalGate(resource, digestOf()) : undefined) ?? windowGate(windows, now)
  );
}

function approvalGate(
  { kind, name, approved }: Pick<SyncResource, "kind" | "name" | "approved">,
  digest: string,
): Gate | undefined {
  if (approved === digest) return undefined;
  const command = `vaultsync approve ${kind.toLowerCase()}/${name}`;
  const until = `(${command}, or the annotation ${APPROVE_ANNOTATION}=${digest})`;
  return { reason: "AwaitingApproval", until, digest };
}

function windowGate(windows: readonly TimeWindow[], now: number): Gate | undefined {
  const opensAt = nextOpening(windows, now);
  if (opensAt === undefined) return undefined;
  const until = new Date(opensAt).toISOString();
  return { reason: "OutsideWindow", opensInMs: opensAt - now, until };
}

/**
 * Returns the digest of the versions that the items of a resource follow, in any order: equal for
 * equal versions of the same entries.
 * @param resolutions with all gates open
 */
export function versionsDigest(resolutions: readonly Resolution[]): string {
  const versions = resolutions.flatMap((one) => {
    if (one.state !== "found" || one.item.version !== "latest") return [];
    const { item, candidate, version } = one;
    const source = sourceId(candidate.vault, item.source, candidate.owner);
    return [[item.id, source, version, candidate.createdAt?.get(version) ?? null] as const];
  });
  return shortDigest(versions.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** What a gate depends on in addition to the resource and the item. */
export interface GateFacts {
  /** The gate of the whole resource. */
  readonly updates?: Gate | undefined;
  /** Time until the end of `spec.refreshInterval`; 0 if the resource does not wait. */
  readonly refreshInMs: number;
  /** The target has bytes of the item. */
  readonly hasBytes: boolean;
}

/**
 * Returns the gate that keeps an item from following the latest version; `undefined` if none does.
 * Without a version to keep, nothing is held: a target is created with the latest ones.
 */
export function closedGate(
  { hold }: SyncResource,
  { id }: SyncItem,
  { updates, refreshInMs, hasBytes }: GateFacts,
): Gate | undefined {
  if (hold !== undefined) return { reason: "Held", version: hold.versions.get(id) };
  if (updates !== undefined) return updates;
  return refreshInMs > 0 && hasBytes
    ? { reason: "RefreshInterval", opensInMs: refreshInMs }
    : undefined;
}
