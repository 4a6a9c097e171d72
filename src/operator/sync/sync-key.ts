import type { SyncResource } from "./sync-resource.ts";

export type SyncKind = SyncResource["kind"];

/** The entries of the vault that each kind reads, and whether it has targets in many namespaces. */
const facts: Readonly<
  Record<SyncKind, { readonly entries: "secret" | "file"; readonly fansOut: boolean }>
> = {
  VaultSecret: { entries: "secret", fansOut: false },
  VaultFile: { entries: "file", fansOut: false },
  ClusterVaultSecret: { entries: "secret", fansOut: true },
  ClusterVaultFile: { entries: "file", fansOut: true },
};

export const SYNC_KINDS: readonly SyncKind[] = [
  "VaultSecret",
  "VaultFile",
  "ClusterVaultSecret",
  "ClusterVaultFile",
];

/** Returns the kind of entries of the vault that resources of a kind read. */
export const entriesOf = (kind: SyncKind): "secret" | "file" => facts[kind].entries;

/** Reports whether a resource of this kind has a target in each of several namespaces. */
export const fansOut = (kind: SyncKind): boolean => facts[kind].fansOut;

/** Returns a value for each kind. */
export const forEachKind = <T>(valueOf: (kind: SyncKind) => T): Readonly<Record<SyncKind, T>> => ({
  VaultSecret: valueOf("VaultSecret"),
  VaultFile: valueOf("VaultFile"),
  ClusterVaultSecret: valueOf("ClusterVaultSecret"),
  ClusterVaultFile: valueOf("ClusterVaultFile"),
});

/**
 * The key of a resource in the queue that all kinds share: `<kind>/<namespace>/<name>`. A resource
 * for several namespaces has a key for each.
 */
export const syncKey = (kind: SyncKind, objectKey: string): string => `${kind}/${objectKey}`;

/** Returns the kind and the key `<namespace>/<name>` of a key of the queue. */
export function parseSyncKey(key: string): { readonly kind: SyncKind; readonly objectKey: string } {
  const slash = key.indexOf("/");
  const kind = key.slice(0, slash);
  return {
    kind: SYNC_KINDS.find((one) => one === kind) ?? "VaultSecret",
    objectKey: key.slice(slash + 1),
  };
}
