/**
 * The records the store keeps. Times are milliseconds since the epoch, possibly beyond JavaScript's
 * dates; email addresses are canonical (`canonicalEmail`).
 */
import type { Permission } from "../../../protocol/responses.ts";
import type { Metadata } from "../../../protocol/metadata.ts";
import type { Envelope } from "../crypto/envelope.ts";
import type { WrappedKey } from "../crypto/master-key.ts";

export interface User {
  readonly email: string;
  /** PHC string; `undefined` when no server has written it: no password matches then. */
  readonly passwordHash: string | undefined;
  /** A disabled user cannot log in, set a password or receive email. */
  readonly disabled: boolean;
}

/** The part of a user that an account starts with. */
export interface Credentials {
  readonly email: string;
  /** PHC string. */
  readonly passwordHash: string;
}

/**
 * A refresh token and what its access tokens inherit. Tokens are stored as the hexadecimal SHA-256
 * of their text only.
 */
export interface RefreshToken {
  readonly digest: string;
  readonly email: string;
  readonly scope: string;
  readonly hours: number;
  readonly lastUsedAt: number;
  /** Networks with their prefixes from which it can be used; empty for all. */
  readonly allowedNetworks: readonly string[];
  /** Time after which it and its access tokens are not valid, 0 for none. */
  readonly endsAt: number;
}

export interface AccessToken {
  readonly digest: string;
  /** Given by the user, or the client's own; may be empty. */
  readonly name: string;
  /** Issuer of the workload that logged in, whose subject is the name; empty for a user. */
  readonly issuer: string;
  /** Digest of the refresh token it was issued with or by. */
  readonly refreshDigest: string;
  readonly email: string;
  readonly scope: string;
  readonly expiresAt: number;
  /** The same as in its refresh token. */
  readonly allowedNetworks: readonly string[];
  /** Time of the login that the token comes from, directly or by refreshes. */
  readonly createdAt: number;
  /** Time of the login or the refresh that issued it, 0 when it was issued before this was recorded. */
  readonly issuedAt: number;
  /** Last recorded use, 0 before the first one. */
  readonly usedAt: number;
}

/**
 * A refresh token and its access tokens, all from one login: the unit that is listed and revoked.
 */
export interface TokenPair {
  readonly refreshDigest: string;
  readonly name: string;
  /** The same as in its access tokens. */
  readonly issuer: string;
  readonly scope: string;
  readonly createdAt: number;
  /** Last recorded use of any of its tokens; at least `createdAt`. */
  readonly usedAt: number;
  /** Latest expiry of its access tokens. */
  readonly expiresAt: number;
  /** Last use of the refresh token, 0 when it is gone. */
  readonly refreshedAt: number;
  readonly allowedNetworks: readonly string[];
  /** Time after which the refresh token is not valid, 0 for none. */
  readonly endsAt: number;
}

/** The identity of a workload that may log in to an account with a token of its issuer. */
export interface Identity {
  /** URL of the issuer, as its tokens name it. */
  readonly issuer: string;
  /** `system:serviceaccount:NAMESPACE:NAME` of a Kubernetes ServiceAccount, for example. */
  readonly subject: string;
  readonly email: string;
  /** A valid scope string: what its tokens may reach. */
  readonly scope: string;
}

/** A secret without its versions. */
export interface Secret {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  /** Number of the next version, never used before. */
  readonly nextVersion: number;
  /** Lifetime as last requested, in minutes. */
  readonly deleteMinutes: number;
  readonly deleteAt: number;
}

export interface SecretVersion {
  readonly version: number;
  readonly metadata: Metadata;
  readonly createdAt: number;
  /** User who wrote the value; empty for a version from before this was recorded. */
  readonly createdBy: string;
  readonly updatedAt: number;
}

/** The access of one user to one secret: as its owner, or through direct and team grants. */
export interface SecretAccess {
  readonly secret: Secret;
  readonly latest: SecretVersion;
  /** True when the secret is granted to any user or team. */
  readonly shared: boolean;
  /** Union of all direct and team grants; `RW` for the owner. */
  readonly permission: Permission;
}

/** The access to a secret that was found by its name. */
export interface NamedAccess extends SecretAccess {
  /** The rows that give the access, for `GrantTable.authenticPermission`; empty for the owner. */
  readonly evidence: string;
}

/** A secret of a list. */
export interface ListedSecret extends SecretAccess {
  /** JSON of the metadata of the latest version, as stored. */
  readonly metadataText: string;
}

/** The target of a grant. */
export type Grantee =
  | { readonly kind: "person"; readonly email: string }
  | { readonly kind: "team"; readonly groupId: string };

export type Grant = Grantee & { readonly permission: Permission };

/** A recipient of a new grant, with what identifies it. */
export type Recipient =
  | Extract<Grantee, { kind: "person" }>
  | (Extract<Grantee, { kind: "team" }> & { readonly teamId: string });

/** The part of a secret that its grants are bound to, as its values are. */
export type SecretIdentity = Pick<Secret, "id" | "owner" | "name">;

export interface Team {
  readonly groupId: string;
  /** Never the id of another team, even of the same name. */
  readonly id: string;
  readonly creator: string;
  /** In code point order, including the creator. */
  readonly members: readonly string[];
}

export interface StoredFile {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly nextVersion: number;
}

/** The part of a file that its digests are bound to. */
export type FileIdentity = Pick<StoredFile, "id" | "owner" | "name">;

/** One version of a file. Its bytes are the chunks of the blob; `digest` seals their SHA-256. */
export interface FileVersion {
  readonly version: number;
  /** Bytes. */
  readonly size: number;
  readonly createdAt: number;
  readonly blobId: string;
  readonly digest: Envelope;
}

interface WrappedVersion {
  /** Id of the secret or file. */
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly version: number;
  readonly key: WrappedKey;
}

/** A version whose data key is wrapped by a master key, with everything its identity is made of. */
export type WrappedRecord =
  | ({ readonly kind: "secret" } & WrappedVersion)
  | ({ readonly kind: "file"; readonly blobId: string; readonly size: number } & WrappedVersion);

/** A login to the web application. Only the hexadecimal SHA-256 of its token is stored. */
export interface Session {
  readonly digest: string;
  /** The browser, as it names itself; may be empty. */
  readonly name: string;
  readonly email: string;
  readonly createdAt: number;
  /** Extended by use, up to a maximum age. */
  readonly expiresAt: number;
  /** Last recorded use. */
  readonly usedAt: number;
}

/**
 * Proof of access to a mailbox: the bearer of the token with this digest may set the password of
 * this address.
 */
export interface EmailProof {
  readonly digest: string;
  readonly email: string;
  readonly expiresAt: number;
}

/**
 * An email waiting to be sent. It is stored without a token: each delivery attempt creates its own.
 */
export interface EmailMessage {
  readonly id: string;
  /**
   * `invitation`: `from` shared a secret with `to`. `confirmation`: `to` asked to set a password.
   * `password_changed`: the password of `to` was replaced.
   */
  readonly kind: "invitation" | "confirmation" | "password_changed";
  readonly to: string;
  readonly from: string;
  /** Number of failed deliveries. */
  readonly attempts: number;
  /** Time of the next delivery attempt. */
  readonly dueAt: number;
}

/**
 * Events of one subject within a window: failed logins of an account or a network, requested
 * emails. An entry that counts until a future time, such as a network that an account has logged in
 * from, is an event at that time.
 */
export interface LoginFailures {
  readonly count: number;
  readonly lastAt: number;
}

/** The kinds of what users store. */
export type EntryKind = "secret" | "file";

/** A resource of a cluster that reads an entry, as it names itself, and its last read. */
export interface Consumer {
  readonly consumer: string;
  readonly version: number;
  readonly readAt: number;
  /** The account that read. */
  readonly account: string;
}

/** A read of an entry by a consumer that the request names. */
export interface ConsumerUse extends Omit<Consumer, "readAt"> {
  readonly kind: EntryKind;
  readonly entryId: string;
}

/** Changes that the operator of the vault makes to users. */
export const adminActions = [
  "add",
  "disable",
  "enable",
  "delete",
  "set-password",
  "revoke-tokens",
  "hand-over-teams",
  "receive-teams",
  "hand-over-secrets",
  "receive-secrets",
  "add-identity",
  "remove-identity",
] as const;

/**
 * A change that a command of the operator of the vault made to a user. It waits for the audit log.
 */
export interface AdminAction {
  readonly id: string;
  readonly at: number;
  readonly action: (typeof adminActions)[number];
  readonly email: string;
  /** Issuer and subject of an identity, separated by a space; empty for other actions. */
  readonly identity?: string;
}
