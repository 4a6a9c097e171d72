import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { bytesDigest, type Content } from "../../sync/content.ts";
import type { Entry, Fetch } from "../../sync/decide.ts";
import { type KeyState, reviewKey } from "../../sync/review-content.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { sourceId, type TargetState } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { vaultFailure } from "./failures.ts";
import { DONE, type Failure, lasting, retryable } from "./sync-result.ts";

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
  readonly fetched: boolean;
  /** Why the key does not have the version that it should have. */
  readonly problem?: Failure | undefined;
}

/** Sources of the content of a target. */
interface GatherInput {
  readonly resource: SyncResource;
  readonly state: TargetState;
  readonly current: CurrentTarget;
  /** The keys that the target had when its content was verified last. */
  readonly verified: ReadonlyMap<string, KeyState> | undefined;
  readonly contentKey: Redacted<Uint8Array>;
  readonly signal: AbortSignal;
}

/**
 * Assembles the content of a target: synced bytes from the target itself if it can be trusted, all others from the vault. Returns
 * `unavailable` if the bytes of an entry are in neither, or the failure that prevents a complete content.
 */
export async function gatherContent(
  entries: readonly Entry[],
  input: GatherInput,
): Promise<readonly GatheredKey[] | "unavailable" | Failure> {
  const keys: GatheredKey[] = [];
  for (const key of await Promise.all(entries.map((entry) => gatherKey(entry, input)))) {
    if (key === "unavailable" || "condition" in key) return key;
    keys.push(key);
  }
  return keys;
}

async function gatherKey(entry: Entry, input: GatherInput): Promise<GatheredKey | "unavailable" | Failure> {
  const kept = keptKey(entry.targetKey, input);
  if (entry.from === "target" && kept !== undefined) return kept;
  const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
  if (fetch === undefined) return "unavailable";
  return fetchKey(entry, fetch, kept, input);
}

/** Returns the key with the content that the target has, if that can be trusted. */
function keptKey(targetKey: string, { current }: GatherInput): GatheredKey | undefined {
  const state = current.trusted ? current.keys.get(targetKey) : undefined;
  return state && { targetKey, state, bytes: current.content.get(targetKey), fetched: false };
}

async function fetchKey(
  entry: Entry,
  fetch: Fetch,
  kept: GatheredKey | undefined,
  input: GatherInput,
): Promise<GatheredKey | Failure> {
  const { targetKey, item } = entry;
  const { vault, owner, createdAt, read } = fetch.candidate;
  const source = sourceId(vault, item.source, owner);
  const fetched = await read(fetch.version, input.signal).catch((error: unknown) => readFailure(error, item.source));
  if ("condition" in fetched) return fetched;
  const { version } = fetched;
  const before = input.state.state === "owned" ? input.state.synced.get(targetKey) : undefined;
  // The response may be older than the list; it must not take the target back to an earlier version.
  const wentBack = before?.source === source && version < Math.min(before.version, fetch.version);
  const message = `${item.source}: the vault returned version ${version} instead of ${fetch.version}`;
  if ((item.version !== "latest" && version !== item.version) || wentBack) return retryable("UnexpectedResponse", message);
  const bytes = fetched.bytes.reveal();
  const synced = { version, source, createdAt: createdAt?.get(version) };
  const key: GatheredKey = { targetKey, state: { ...bytesDigest(input.contentKey, bytes), synced }, bytes, fetched: true };
  if (version < fetch.version) {
    const problem = retryable("Progressing", `${message}, which its list shows: the operator retries`);
    return { ...(kept !== undefined && version === before?.version ? kept : key), problem };
  }
  const objection = reviewKey(input.resource, item, key.state, comparable(entry, input));
  if (objection === undefined) return key;
  const problem = lasting(objection.reason, objection.message, DONE);
  return kept === undefined ? problem : { ...kept, problem };
}

/**
 * Returns what fetched bytes are compared with: the verified content, also if the target was edited since. Of edited content only
 * that is known which a new version would replace.
 */
function comparable({ targetKey, from }: Entry, { current, verified }: GatherInput): KeyState | undefined {
  if (current.trusted) return current.keys.get(targetKey);
  return verified?.get(targetKey) ?? (from === "vault" ? current.keys.get(targetKey) : undefined);
}

function readFailure(error: unknown, source: string): Failure {
  if (isVaultError(error)) return vaultFailure(error, source);
  throw error;
}
