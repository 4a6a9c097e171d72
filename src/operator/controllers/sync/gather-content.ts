import type { KubeObject } from "../../kube/resource.ts";
import type { Content } from "../../sync/content.ts";
import type { Entry, Fetch } from "../../sync/decide.ts";
import { sourceId, type SyncedKey, type TargetState } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { vaultFailure } from "./failures.ts";
import { type Failure, retryable } from "./sync-result.ts";

/** The existing target as it was read. `trusted`: content and annotations are those that the operator wrote. */
export interface CurrentTarget {
  readonly object: KubeObject | undefined;
  readonly content: Content;
  readonly trusted: boolean;
}

export const NO_TARGET: CurrentTarget = { object: undefined, content: new Map(), trusted: false };

/** The complete content of the new target. */
export interface GatheredContent {
  readonly content: ReadonlyMap<string, Uint8Array>;
  readonly synced: ReadonlyMap<string, SyncedKey>;
  /** Versions by key that the target did not contain before. */
  readonly fetched: ReadonlyMap<string, number>;
}

/** The bytes of one key; `fetched` if the target did not contain this version before. */
interface KeyContent {
  readonly targetKey: string;
  readonly bytes: Uint8Array;
  readonly synced: SyncedKey;
  readonly fetched: boolean;
}

/**
 * Assembles the content of a target: synced bytes from the target itself if it can be trusted, all others from the vault. Returns
 * `unavailable` if the bytes of an entry are in neither.
 */
export async function gatherContent(
  entries: readonly Entry[],
  current: CurrentTarget,
  state: TargetState,
  signal: AbortSignal,
): Promise<GatheredContent | "unavailable" | Failure> {
  const keys: KeyContent[] = [];
  for (const key of await Promise.all(entries.map((entry) => gatherKey(entry, current, state, signal)))) {
    if (key === "unavailable" || "condition" in key) return key;
    keys.push(key);
  }
  return {
    content: new Map(keys.map(({ targetKey, bytes }) => [targetKey, bytes])),
    synced: new Map(keys.map(({ targetKey, synced }) => [targetKey, synced])),
    fetched: new Map(keys.filter(({ fetched }) => fetched).map(({ targetKey, synced }) => [targetKey, synced.version])),
  };
}

async function gatherKey(
  entry: Entry,
  current: CurrentTarget,
  state: TargetState,
  signal: AbortSignal,
): Promise<KeyContent | "unavailable" | Failure> {
  const { targetKey } = entry;
  if (entry.from === "target") {
    const bytes = current.trusted ? current.content.get(targetKey) : undefined;
    if (bytes !== undefined) return { targetKey, bytes, synced: entry.synced, fetched: false };
  }
  const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
  if (fetch === undefined) return "unavailable";
  return fetchKey(entry, fetch, state.state === "owned" ? state.synced.get(targetKey) : undefined, signal);
}

async function fetchKey(
  { targetKey, item, from }: Entry,
  fetch: Fetch,
  before: SyncedKey | undefined,
  signal: AbortSignal,
): Promise<KeyContent | Failure> {
  const { vault, owner, createdAt, read } = fetch.candidate;
  const source = sourceId(vault, item.source, owner);
  try {
    const { bytes, version } = await read(fetch.version, signal);
    // The response may be older than the list; it must not take the target back to an earlier version.
    const wentBack = before?.source === source && version < Math.min(before.version, fetch.version);
    if ((item.version !== "latest" && version !== item.version) || wentBack) {
      const message = `${item.source}: requested version ${fetch.version}, the vault returned version ${version}`;
      return retryable("UnexpectedResponse", message);
    }
    const synced = { version, source, createdAt: createdAt?.get(version) };
    return { targetKey, bytes: bytes.reveal(), synced, fetched: from === "vault" };
  } catch (error) {
    if (isVaultError(error)) return vaultFailure(error, item.source);
    throw error;
  }
}
