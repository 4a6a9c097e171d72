import type { Candidate } from "../../../src/operator/sync/resolution.ts";
import type { SyncItem, SyncResource } from "../../../src/operator/sync/sync-resource.ts";
import type { SyncedKey, TargetState } from "../../../src/operator/sync/target.ts";

type OwnedTarget = Extract<TargetState, { readonly state: "owned" }>;

/**
 * Returns an item that follows the latest version of the secret with the name of its key, with
 * `changes`.
 */
export function syncItem(id: string, changes: Partial<SyncItem> = {}): SyncItem {
  return { id, source: id, owner: undefined, version: "latest", ...changes };
}

/** Returns a VaultSecret `shop/db` with the target Secret `db`, with `changes`. */
export function syncResource(
  items: readonly SyncItem[],
  changes: Partial<SyncResource> = {},
): SyncResource {
  return {
    kind: "VaultSecret",
    namespace: "shop",
    name: "db",
    uid: "uid-of-the-resource",
    generation: 7,
    connection: { kind: "VaultConnection", name: "vault" },
    suspend: false,
    refreshIntervalMs: undefined,
    items,
    finds: [],
    target: { kind: "Secret", name: "db", type: "Opaque" },
    policy: { creationPolicy: "Owner", labels: {}, annotations: {}, immutable: false },
    whenRemoved: "Delete",
    whenMissing: "Retain",
    forceSync: undefined,
    accepted: new Set(),
    ...changes,
  };
}

/** Identity of the vault of {@link candidate}. */
export const VAULT = "vault";

const read = (): Promise<never> => Promise.reject(new Error("this entry has no vault"));

/**
 * Returns an entry of the vault's list that the account owns and that has no deadlines, with
 * `changes`.
 */
export function candidate(latest: number, changes: Partial<Candidate> = {}): Candidate {
  const own = { vault: VAULT, owner: "ops@example.com", own: true, latest };
  return { ...own, sizes: undefined, expiresAt: undefined, deleteAt: undefined, read, ...changes };
}

/** Returns a target that the resource owns and that contains these keys, with `changes`. */
export function ownedTarget(
  synced: ReadonlyMap<string, SyncedKey>,
  changes: Partial<OwnedTarget> = {},
): OwnedTarget {
  const identity = { state: "owned", uid: "uid-1", resourceVersion: "41" } as const;
  return {
    ...identity,
    content: "digest",
    synced,
    annotationsCorrupted: false,
    hasMetadata: true,
    ...changes,
  };
}
