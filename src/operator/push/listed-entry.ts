import { formatTimestamp } from "../sync/timestamp.ts";
import { notReady, type ReadyCondition } from "../sync/ready-condition.ts";
import type { FileRecord, SecretRecord, Snapshot } from "../vault-client/connection.ts";
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

interface VersionIdentity {
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
  if (item.kind === "file") return { record: snapshot.file(name), owner: undefined, shared: false };
  const account = access.account.toLowerCase();
  const records = snapshot.secrets(name);
  if (wanted !== undefined && wanted !== account) {
    const record = records.find((one) => isOwner(one, wanted));
    if (record !== undefined) return received(record);
    const message = `${entryOf(item)} of ${wanted} is not in the vault's list: ask its creator to share it with ${account} with permission RW`;
    return notReady("SourceMissing", message);
  }
  const own = records.find((record) =>
    record.owner === undefined ? record.shared !== true : isOwner(record, account),
  );
  return own !== undefined || wanted === account || records.length === 0
    ? { record: own, owner: undefined, shared: own?.shared === true }
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
