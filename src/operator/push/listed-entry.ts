import { formatTimestamp } from "../sync/timestamp.ts";
import { notReady, type ReadyCondition } from "../sync/ready-condition.ts";
import type { FileRecord, SecretRecord, Snapshot } from "../vault-client/connection.ts";
import type { PushItemStatus } from "../api/vault-push.ts";
import type { Trust } from "../api/received-secrets.ts";
import { entryOf, type PushItem } from "./push-resource.ts";

/** One version of an entry, with timestamps of RFC 3339. */
export interface ListedVersion {
  readonly version: number;
  readonly createdAt: string | undefined;
  readonly deleteAt: string | undefined;
}

export const listedVersion = ({
  version,
  createdAt,
  ...record
}: SecretRecord | FileRecord): ListedVersion => ({
  version,
  createdAt: formatTimestamp(createdAt),
  deleteAt: "deleteAt" in record ? formatTimestamp(record.deleteAt) : undefined,
});

/**
 * Returns a version that no list shows yet. If it has the number of the one that was pushed last,
 * the next list shows whether another writer recreated the entry since.
 */
export function unlistedVersion(
  version: number,
  pushed: Pick<PushItemStatus, "version" | "createdAt" | "deleteAt"> | undefined,
): ListedVersion {
  const known = pushed?.version === version ? pushed : undefined;
  return { version, createdAt: known?.createdAt, deleteAt: known?.deleteAt };
}

export interface VersionIdentity {
  readonly version: number;
  readonly createdAt?: string | undefined;
}

/**
 * Reports whether two states are the same version of the same entry. A vault need not say when it
 * created a version.
 */
export const isSameVersion = (a: VersionIdentity, b: VersionIdentity): boolean =>
  a.version === b.version &&
  (a.createdAt === undefined || b.createdAt === undefined || a.createdAt === b.createdAt);

/** The entry of the vault that a key is pushed to. */
export interface WritableEntry {
  /** The latest listed version; `undefined` if there is no such entry yet. */
  readonly record: SecretRecord | FileRecord | undefined;
  /** The creator, if it is another account. */
  readonly owner: string | undefined;
  readonly shared: boolean;
}

const received = (record: SecretRecord): WritableEntry => ({
  record,
  owner: record.owner,
  shared: true,
});

/** Returns the digest of the listed version of a file, if the list has it. */
export const listedSha256 = (
  { record }: WritableEntry,
  { version }: ListedVersion,
): string | undefined =>
  record !== undefined && "sha256" in record && record.version === version
    ? record.sha256
    : undefined;

/**
 * Returns the entry of the account itself. It has no record if the spec names another creator.
 */
export function ownEntry(
  { kind, name, owner: wanted }: PushItem,
  snapshot: Snapshot,
  account: string,
): WritableEntry {
  if (kind === "file") return { record: snapshot.file(name), owner: undefined, shared: false };
  const own = account.toLowerCase();
  const record = snapshot
    .secrets(name)
    .find((one) => (one.owner === undefined ? one.shared !== true : isOwner(one, own)));
  return wanted === undefined || wanted === own
    ? { record, owner: undefined, shared: record?.shared === true }
    : { record: undefined, owner: undefined, shared: false };
}

/**
 * Returns the entry that a key is pushed to, or the reason why it must not be pushed. A secret of
 * another account is written only if the spec or the connection names its creator: otherwise a user
 * of the vault could have a value sent to them by sharing a secret of that name.
 */
export function listedEntry(
  item: PushItem,
  snapshot: Snapshot,
  access: Pick<Trust, "account" | "trustedOwners">,
): WritableEntry | ReadyCondition {
  const { name, owner: wanted } = item;
  const own = ownEntry(item, snapshot, access.account);
  if (item.kind === "file") return own;
  const account = access.account.toLowerCase();
  const records = snapshot.secrets(name);
  if (wanted !== undefined && wanted !== account) {
    const record = records.find((one) => isOwner(one, wanted));
    if (record !== undefined) return received(record);
    const message = `${entryOf(item)} of ${wanted} is not in the vault's list: ask its creator to share it with ${account} with permission RW`;
    return notReady("SourceMissing", message);
  }
  return own.record !== undefined || wanted === account || records.length === 0
    ? own
    : trustedEntry(item, records, access);
}

/** Returns the entry of the only trusted creator that shares one of this name. */
function trustedEntry(
  item: PushItem,
  records: readonly SecretRecord[],
  { account, trustedOwners }: Pick<Trust, "account" | "trustedOwners">,
): WritableEntry | ReadyCondition {
  const trusted = records.filter(({ owner = "" }) => trustedOwners?.has(owner.toLowerCase()));
  const [first, ...others] = trusted;
  if (first !== undefined && others.length === 0) return received(first);
  // Like a read, a push ignores secrets of creators that are not trusted.
  if (first === undefined && trustedOwners !== undefined)
    return { record: undefined, owner: undefined, shared: false };
  const owners = records.map(({ owner }) => owner ?? "an unnamed owner").join(", ");
  const message = `${entryOf(item)} is shared by ${owners}, and ${account.toLowerCase()} has none of this name: set remoteRef.owner to the one to push to`;
  return notReady("AmbiguousName", message);
}

/** @param account in lower case */
const isOwner = ({ owner }: SecretRecord, account: string): boolean =>
  owner?.toLowerCase() === account;
