import { connectionDefaults, type ConnectionSpec } from "./vault-connection.ts";

/**
 * The parts of a connection that say whose secrets its resources use; see
 * docs/resources.md#received-secrets.
 */
export interface Trust {
  /** Email address of the vault account. Entries of this owner are own entries. */
  readonly account: string;
  /**
   * Email addresses in lower case of the creators whose secrets are used, in addition to the
   * account.
   */
  readonly trustedOwners: ReadonlySet<string> | undefined;
  /** `Anyone`: secrets of any other creator are used too, except by rules that find them. */
  readonly receive: "Trusted" | "Anyone";
}

/** The owner of a secret according to a list. The list may omit both fields. */
interface Ownership {
  readonly owner?: string | undefined;
  readonly shared?: boolean | undefined;
}

/** A reference to a secret: the owner that it names, or the rule that found the secret. */
interface Reference {
  readonly owner?: string | undefined;
  readonly foundBy?: unknown;
}

/** Returns whose secrets a connection with this spec uses. */
export const trustOf = ({
  email,
  trustedOwners,
  receive = connectionDefaults.receive,
}: ConnectionSpec): Trust => ({
  account: email,
  trustedOwners: trustedOwners && new Set(trustedOwners.map((owner) => owner.toLowerCase())),
  receive,
});

/** Returns the owners that a connection names: its account first. */
export const namedOwners = ({
  account,
  trustedOwners = new Set(),
}: Pick<Trust, "account" | "trustedOwners">): readonly string[] => [account, ...trustedOwners];

/** Reports whether a secret belongs to this account. */
export const hasOwner = (
  { owner }: Pick<Ownership, "owner">,
  wanted: string | undefined,
): boolean => owner !== undefined && owner.toLowerCase() === wanted?.toLowerCase();

/**
 * Reports whether a listed secret may belong to this account. A list without owners is no evidence
 * that a secret of theirs is gone.
 */
export const mayHaveOwner = (record: Pick<Ownership, "owner">, wanted: string): boolean =>
  record.owner === undefined || hasOwner(record, wanted);

/** Reports whether the account of the connection created a secret. */
export const isOwn = (record: Ownership, { account }: Pick<Trust, "account">): boolean =>
  record.owner === undefined || hasOwner(record, account);

/**
 * Reports whether another account shares a secret. An own one that is shared with others is not
 * received.
 */
const isReceived = (record: Ownership, trust: Trust): boolean =>
  record.owner === undefined ? record.shared === true : !isOwn(record, trust);

/** Reports whether a secret is the account's own, or of a creator whom the connection names. */
export const isTrusted = (record: Ownership, trust: Trust): boolean =>
  !isReceived(record, trust) ||
  trust.trustedOwners?.has(record.owner?.toLowerCase() ?? "") === true;

/**
 * Reports whether neither the connection nor the reference names the creator of a shared secret.
 */
export function isUntrusted(
  record: Ownership,
  { owner, foundBy }: Reference,
  trust: Trust,
): boolean {
  if (isTrusted(record, trust)) return false;
  if (foundBy !== undefined) return true;
  const isNamed = hasOwner(record, owner);
  return trust.receive !== "Anyone" && !isNamed;
}
