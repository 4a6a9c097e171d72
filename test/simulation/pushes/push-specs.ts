import type { VaultPushSpec } from "../../../src/operator/api/vault-push.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { urlOf } from "../cast.ts";
import type { EntryRef } from "./entry-journal.ts";

type PushSpec = VaultPushSpec;
export type Item = NonNullable<PushSpec["data"]>[number];

export interface ConnectionSpec {
  readonly url: string;
  readonly email: string;
  readonly trustedOwners?: readonly string[];
}

/** A VaultPush at one time. */
export interface PushState {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly createdAt: string;
  readonly isDeleting: boolean;
  readonly spec: PushSpec;
}

export function pushStateOf({ metadata, spec }: KubeObject): PushState {
  const { uid = "", namespace = "", name, creationTimestamp: createdAt = "" } = metadata;
  const isDeleting = metadata.deletionTimestamp !== undefined;
  return { uid, namespace, name, createdAt, isDeleting, spec: spec as PushSpec };
}

/** Returns the kind and the name of the entry of an item. */
export const entryOf = ({ remoteRef, file }: Item): Pick<EntryRef, "kind" | "name"> =>
  file === undefined
    ? { kind: "secret", name: remoteRef?.key ?? "" }
    : { kind: "file", name: file.filename };

/** Reports whether an item names an entry, in whatever vault. */
export function isNamed(item: Item, { kind, name }: Pick<EntryRef, "kind" | "name">): boolean {
  const entry = entryOf(item);
  return entry.kind === kind && entry.name === name;
}

/** Reports whether an item may be pushed to an entry through a connection. */
export function mayPushTo(item: Item, connection: ConnectionSpec, ref: EntryRef): boolean {
  const { email, trustedOwners = [] } = connection;
  const owners =
    item.remoteRef?.owner === undefined
      ? [email, ...(item.file === undefined ? trustedOwners : [])]
      : [item.remoteRef.owner];
  return isAt(item, connection, ref) && owners.includes(ref.owner);
}

/** Reports whether an item is certainly pushed to an entry, whatever other accounts share. */
export function pushesTo(item: Item, connection: ConnectionSpec, ref: EntryRef): boolean {
  const { email, trustedOwners } = connection;
  if (!isAt(item, connection, ref)) return false;
  if (item.file !== undefined) return ref.owner === email;
  const owner = item.remoteRef?.owner;
  return owner === undefined
    ? trustedOwners === undefined && ref.owner === email
    : owner === ref.owner;
}

// The operator refuses the other URL.
const isAt = (item: Item, { url }: ConnectionSpec, ref: EntryRef): boolean =>
  url === urlOf(ref.vault) && isNamed(item, ref);

/** Orders VaultPushes as the documentation says: the oldest one pushes. */
export const isOlder = (one: PushState, other: PushState): boolean =>
  one.createdAt === other.createdAt
    ? `${one.namespace}/${one.name}` < `${other.namespace}/${other.name}`
    : one.createdAt < other.createdAt;
