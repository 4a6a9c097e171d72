import type { ConnectionKind } from "./kinds.ts";

/** The connection that a resource refers to. */
export interface ConnectionRef {
  readonly kind: ConnectionKind;
  readonly name: string;
}

/**
 * Returns the key of a connection in queues, metrics and log entries, which is the key of its object in a store: `namespace/name` of a
 * VaultConnection, `name` of a ClusterVaultConnection. Names contain no slash, so two connections never have the same key.
 * @param namespace that of the resource
 */
export function connectionKey({ kind, name }: ConnectionRef, namespace: string): string {
  return kind === "ClusterVaultConnection" ? name : `${namespace}/${name}`;
}

/** Returns the kind of the connection with this key. */
export function connectionKindOf(key: string): ConnectionKind {
  return key.includes("/") ? "VaultConnection" : "ClusterVaultConnection";
}
