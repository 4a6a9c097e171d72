import type { Candidate } from "../../../src/operator/sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../../src/operator/sync/sync-resource.ts";

/** Returns an item that follows the latest version of the secret with the name of its key, with `changes`. */
export function syncItem(targetKey: string, changes: Partial<SyncItem> = {}): SyncItem {
  return { targetKey, source: targetKey, owner: undefined, version: "latest", ...changes };
}

/** Returns a VaultSecret `shop/db` with the target Secret `db`, with `changes`. */
export function syncResource(items: readonly SyncItem[], changes: Partial<SyncResource> = {}): SyncResource {
  return {
    kind: "VaultSecret",
    namespace: "shop",
    name: "db",
    uid: "uid-of-the-resource",
    generation: 7,
    connection: "vault",
    suspend: false,
    items,
    target: { kind: "Secret", name: "db", type: "Opaque" },
    whenRemoved: "Delete",
    accepted: new Set(),
    ...changes,
  };
}

/** Returns an entry of the vault's list that the account owns and that has no deadlines, with `changes`. */
export function candidate(latest: number, changes: Partial<Candidate> = {}): Candidate {
  const own = { owner: "ops@example.com", own: true, latest };
  return { ...own, sizes: undefined, expiresAt: undefined, deleteAt: undefined, ...changes };
}
