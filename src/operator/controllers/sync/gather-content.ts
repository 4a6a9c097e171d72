import type { Content } from "../../sync/content.ts";
import type { Entry, Fetch } from "../../sync/decide.ts";
import type { Candidate } from "../../sync/resolve.ts";
import { sourceId, type SyncedKey, type TargetState } from "../../sync/target.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import type { FetchedBytes } from "./source-kind.ts";
import { type SyncFailure, vaultFailure } from "./sync-failure.ts";

/** Reads one version of one entry of the vault. @throws VaultError */
export type FetchBytes<C extends Candidate> = (fetch: Fetch<C>) => Promise<FetchedBytes>;

/** Content of the existing target. `trusted`: its digest is the one that the operator wrote. */
export interface CurrentContent {
  readonly content: Content;
  readonly trusted: boolean;
}

/** The complete content of the new target, or the reason why it cannot be assembled now. */
export type Gathered =
  | {
      readonly state: "complete";
      readonly content: Content;
      readonly synced: ReadonlyMap<string, SyncedKey>;
      /** Versions by key that the target did not contain before. */
      readonly fetched: ReadonlyMap<string, number>;
    }
  /** The bytes of an entry are neither in a trusted target nor in the vault. */
  | { readonly state: "unavailable" }
  | { readonly state: "failed"; readonly failure: SyncFailure };

interface Gathering {
  readonly content: Map<string, Uint8Array>;
  readonly synced: Map<string, SyncedKey>;
  readonly fetched: Map<string, number>;
}

/** Assembles the content of a target: synced bytes from the target itself if it can be trusted, all others from the vault. */
export async function gatherContent<C extends Candidate>(
  entries: readonly Entry<C>[],
  current: CurrentContent,
  state: TargetState,
  fetchBytes: FetchBytes<C>,
): Promise<Gathered> {
  const into: Gathering = { content: new Map(), synced: new Map(), fetched: new Map() };
  const problems = await Promise.all(entries.map((entry) => gatherEntry(entry, current, state, fetchBytes, into)));
  return problems.find((problem) => problem !== undefined) ?? { state: "complete", ...into };
}

type Problem = Exclude<Gathered, { readonly state: "complete" }>;

async function gatherEntry<C extends Candidate>(
  entry: Entry<C>,
  current: CurrentContent,
  state: TargetState,
  fetchBytes: FetchBytes<C>,
  into: Gathering,
): Promise<Problem | undefined> {
  const { targetKey } = entry;
  const stored = current.trusted && entry.from === "target" ? current.content.get(targetKey) : undefined;
  if (stored !== undefined && entry.from === "target") {
    into.content.set(targetKey, stored);
    into.synced.set(targetKey, entry.synced);
    return undefined;
  }
  const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
  if (fetch === undefined) return { state: "unavailable" };
  const synced = state.state === "owned" ? state.synced.get(targetKey) : undefined;
  const failure = await fetchEntry(entry, fetch, synced, fetchBytes, into);
  return failure && { state: "failed", failure };
}

async function fetchEntry<C extends Candidate>(
  { targetKey, item, from }: Entry<C>,
  fetch: Fetch<C>,
  synced: SyncedKey | undefined,
  fetchBytes: FetchBytes<C>,
  into: Gathering,
): Promise<SyncFailure | undefined> {
  const { source, version: requested } = item;
  const { vault, owner, createdAt } = fetch.candidate;
  const id = sourceId(vault, source, owner);
  try {
    const { bytes, version } = await fetchBytes(fetch);
    // The response may be older than the list; it must not take the target back to an earlier version.
    const wentBack = synced?.source === id && version < Math.min(synced.version, fetch.version);
    if ((requested !== "latest" && version !== requested) || wentBack) {
      const message = `${source}: requested version ${fetch.version}, the vault returned version ${version}`;
      return { kind: "retry", reason: "UnexpectedResponse", message, retryAfterMs: undefined };
    }
    into.content.set(targetKey, bytes.reveal());
    into.synced.set(targetKey, { version, source: id, createdAt: createdAt?.get(version) });
    if (from === "vault") into.fetched.set(targetKey, version);
    return undefined;
  } catch (error) {
    if (isVaultError(error)) return vaultFailure(error, source);
    throw error;
  }
}
