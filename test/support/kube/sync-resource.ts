import type { Candidate } from "../../../src/operator/sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../../src/operator/sync/sync-resource.ts";

/** An item that follows the latest version of a secret of the same name as its key, unless told otherwise. */
export function syncItem(targetKey: string, changes: Partial<SyncItem> = {}): SyncItem {
  return { targetKey, source: targetKey, owner: undefined, version: "latest", ...changes };
}

/** A VaultSecret `shop/db` that keeps the Secret `db`, unless told otherwise. */
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

/** An entry of the vault's list: the account's own, without deadlines, unless told otherwise. */
export function candidate(latest: number, changes: Partial<Candidate> = {}): Candidate {
  const own = { owner: "ops@example.com", own: true, latest };
  return { ...own, sizes: undefined, expiresAt: undefined, deleteAt: undefined, ...changes };
}
