import { isObject } from "../../lib/is-object.ts";
import { type ConnectionKind, connectionKinds } from "./kinds.ts";

/** The connection that a resource refers to. */
export interface ConnectionRef {
  readonly kind: ConnectionKind;
  readonly name: string;
}

const isConnectionKind = (kind: unknown): kind is ConnectionKind =>
  typeof kind === "string" && Object.hasOwn(connectionKinds, kind);

/** Returns the connection that the spec of a resource names; `undefined` if it is malformed. */
export function connectionRefOf(spec: unknown): ConnectionRef | undefined {
  const ref = isObject(spec) ? spec["connectionRef"] : undefined;
  const { kind = "VaultConnection", name } = isObject(ref) ? ref : {};
  return isConnectionKind(kind) && typeof name === "string" ? { kind, name } : undefined;
}

/** Reports whether the spec of a resource names a connection. The namespace is not compared. */
export function usesConnection(
  spec: unknown,
  { kind, name }: { readonly kind: string; readonly name: string },
): boolean {
  const ref = connectionRefOf(spec);
  return ref?.kind === kind && ref.name === name;
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
 * Returns the tenant of a connection: only its tenant waits when a connection causes much work. The
 * tenant of a VaultConnection is its namespace, whose users create its Secrets too; each
 * ClusterVaultConnection is a separate tenant. The two never have the same text.
 */
export function tenantOf(key: string): string {
  const end = key.indexOf("/") + 1;
  return end === 0 ? key : key.slice(0, end);
}
