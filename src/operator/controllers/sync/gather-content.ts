import { connectionKey } from "../../api/connection-key.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import { bytesDigest, type Content } from "../../sync/content.ts";
import type { Entry, Fetch } from "../../sync/decide.ts";
import { type KeyState, reviewKey } from "../../sync/review-content.ts";
import { isDerived, type SyncResource } from "../../sync/sync-resource.ts";
import type { SyncedKey, TargetState } from "../../sync/target.ts";
import { transform } from "../../sync/transform.ts";
import { deriveContent } from "./derive-content.ts";
import { readEntry } from "./read-entry.ts";
import { DONE, type Failure, lasting } from "./sync-result.ts";

/** The known content of the existing target. */
export interface CurrentTarget {
  /** The object, if it had to be read. */
  readonly object: KubeObject | undefined;
  /** The bytes, if it had to be read. */
  readonly content: Content;
  readonly keys: ReadonlyMap<string, KeyState>;
  /** Content and annotations are those that the operator wrote. */
  readonly trusted: boolean;
}

export const NO_TARGET: CurrentTarget = { object: undefined, content: new Map(), keys: new Map(), trusted: false };

/** One key of the new target. `bytes` is `undefined` if the target keeps them and they were not read. */
export interface GatheredKey {
  readonly targetKey: string;
  readonly state: KeyState;
  readonly bytes: Uint8Array | undefined;
  readonly isNew: boolean;
}

/** The content of a new target. */
export interface Gathered {
  readonly keys: readonly GatheredKey[];
  /** Origins by item. */
  readonly claims: ReadonlyMap<string, SyncedKey>;
  /** The items whose bytes were read from the vault. */
  readonly fetched: ReadonlySet<string>;
  /** Why a key does not have the version that it should have. */
  readonly problem?: Failure | undefined;
}

/** Sources of the content of a target. */
export interface GatherInput {
  readonly resource: SyncResource;
  readonly state: TargetState;
  readonly current: CurrentTarget;
  /** The keys that the target had when its content was verified last. */
  readonly verified: ReadonlyMap<string, KeyState> | undefined;
  readonly contentKey: Redacted<Uint8Array>;
  /** Knows that the reconcile waits for the vault. */
  readonly limits: Pick<QueueLimits, "wait">;
  /** Ends the reads of the vault. */
  readonly signal: AbortSignal;
}

/** One item with a key of its own. */
interface GatheredItem {
  readonly key: GatheredKey;
  readonly claim: SyncedKey;
  readonly problem?: Failure | undefined;
}

/**
 * Assembles the content of a target: synced bytes from the target itself if it can be trusted, all others from the vault. Returns
 * `unavailable` if the bytes of an entry are in neither, or the failure that prevents a complete content.
 */
export function gatherContent(entries: readonly Entry[], input: GatherInput): Promise<Gathered | "unavailable" | Failure> {
  const { limits, resource } = input;
  const gather = isDerived(resource) ? deriveContent : gatherItems;
  return limits.wait(connectionKey(resource.connection, resource.namespace), () => gather(entries, input));
}

async function gatherItems(entries: readonly Entry[], input: GatherInput): Promise<Gathered | "unavailable" | Failure> {
  const items: GatheredItem[] = [];
  for (const item of await Promise.all(entries.map((entry) => gatherItem(entry, input)))) {
    if (item === "unavailable" || "condition" in item) return item;
    items.push(item);
  }
  return {
    keys: items.map(({ key }) => key),
    claims: new Map(items.map(({ key, claim }) => [key.targetKey, claim])),
    fetched: new Set(items.filter(({ key }) => key.isNew).map(({ key }) => key.targetKey)),
    problem: items.find(({ problem }) => problem !== undefined)?.problem,
  };
}

async function gatherItem(entry: Entry, input: GatherInput): Promise<GatheredItem | "unavailable" | Failure> {
  const kept = keptItem(entry, input);
  if (entry.from === "target" && kept !== undefined) return kept;
  const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
  if (fetch === undefined) return "unavailable";
  return fetchItem(entry, fetch, kept, input);
}

/**
 * Returns the key of an item with the content that the target has, if that can be trusted. What an earlier spec made of the source is
 * not kept: it would be next to what this spec makes of others.
 */
function keptItem({ id, item }: Entry, { state, current }: GatherInput): GatheredItem | undefined {
  const claim = state.state === "owned" && current.trusted ? state.synced.get(id) : undefined;
  const known = current.keys.get(id);
  if (claim === undefined || known === undefined || claim.form !== item.form) return undefined;
  return { key: { targetKey: id, state: known, bytes: current.content.get(id), isNew: false }, claim };
}

async function fetchItem(
  entry: Entry,
  fetch: Fetch,
  kept: GatheredItem | undefined,
  input: GatherInput,
): Promise<GatheredItem | Failure> {
  const { id, item } = entry;
  const before = input.state.state === "owned" ? input.state.synced.get(id) : undefined;
  const read = await readEntry(item, fetch, before, input.signal);
  if ("condition" in read) return read;
  const { synced, lag } = read;
  const bytes = transform(item, read.bytes);
  if ("reason" in bytes) {
    const problem = lasting(bytes.reason, bytes.message, DONE);
    return kept === undefined ? problem : { ...kept, problem };
  }
  const state = { ...bytesDigest(input.contentKey, bytes), origin: [synced] };
  const fetched: GatheredItem = { key: { targetKey: id, state, bytes, isNew: true }, claim: synced };
  if (lag !== undefined) return { ...(kept !== undefined && synced.version === before?.version ? kept : fetched), problem: lag };
  const objection = reviewKey(input.resource, [item], state, comparable(entry, input));
  if (objection === undefined) return fetched;
  const problem = lasting(objection.reason, objection.message, DONE);
  return kept === undefined ? problem : { ...kept, problem };
}

/**
 * Returns what fetched bytes are compared with: the verified content, also if the target was edited since. Of edited content only
 * that is known which a new version would replace.
 */
function comparable({ id, from }: Entry, { current, verified }: GatherInput): KeyState | undefined {
  if (current.trusted) return current.keys.get(id);
  return verified?.get(id) ?? (from === "vault" ? current.keys.get(id) : undefined);
}
