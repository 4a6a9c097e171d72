import type { SyncResource } from "./sync-resource.ts";

export type SyncKind = SyncResource["kind"];
export const SYNC_KINDS: readonly SyncKind[] = ["VaultSecret", "VaultFile"];

/**
 * The key of a resource in the queue that VaultSecrets and VaultFiles share:
 * `<kind>/<namespace>/<name>`.
 */
export const syncKey = (kind: SyncKind, objectKey: string): string => `${kind}/${objectKey}`;

/** Returns the kind and the key `<namespace>/<name>` of a key of the queue. */
export function parseSyncKey(key: string): { readonly kind: SyncKind; readonly objectKey: string } {
  const slash = key.indexOf("/");
  return {
    kind: key.slice(0, slash) === "VaultFile" ? "VaultFile" : "VaultSecret",
    objectKey: key.slice(slash + 1),
  };
}
