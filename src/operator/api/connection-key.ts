import type { ConnectionKind } from "./kinds.ts";

/** The connection that a resource refers to. */
export interface ConnectionRef {
  readonly kind: ConnectionKind;
  readonly name: string;
}

/**
 * Returns the key of a connection in queues, metrics, log entries and object stores:
 * `namespace/name` of a VaultConnection, `name` of a ClusterVaultConnection. Names contain no
 * slash, so two connections never have the same key.
 * @param namespace namespace of the resource
 */
export function connectionKey({ kind, name }: ConnectionRef, namespace: string): string {
  return kind === "ClusterVaultConnection" ? name : `${namespace}/${name}`;
}

/** Returns the kind of the connection with this key. */
export function connectionKindOf(key: string): ConnectionKind {
  return key.includes("/") ? "VaultConnection" : "ClusterVaultConnection";
}

/**
 * Returns the tenant of a connection: who waits when the connection causes much work, and no one
 * else does. It is the namespace of a VaultConnection, whose users create its Secrets too; each
 * ClusterVaultConnection is one by itself. The two never have the same text.
 */
export function tenantOf(key: string): string {
  const end = key.indexOf("/") + 1;
  return end === 0 ? key : key.slice(0, end);
}
