/** Maximum amounts of one account (docs/design/vault-contract.md#quotas). */
export interface Quotas {
  readonly secrets: number;
  /** Versions of one secret. */
  readonly secret_versions: number;
  /** Versions of all secrets and files. */
  readonly versions: number;
  /** Bytes of all values, their metadata and files. */
  readonly bytes: number;
  /** Logins with a live access token; idle ones end when there are more. */
  readonly tokens: number;
  readonly teams: number;
  /** Shares of an account's secrets with users and teams, and those of one secret. */
  readonly grants: number;
  readonly secret_grants: number;
  /** Senders that one user has blocked. */
  readonly blocked_senders: number;
  /** Members of one team. */
  readonly members: number;
  /** Uploads in progress at one server process. */
  readonly uploads: number;
  /**
   * Secrets, and bytes of their metadata, of one sender in the list of a recipient who has not
   * accepted the sender.
   */
  readonly unaccepted_secrets: number;
  readonly unaccepted_bytes: number;
  /** Bytes of the metadata of all such senders in one list. */
  readonly unaccepted_total: number;
}

export type QuotaName = keyof Quotas;

export const defaultQuotas: Quotas = {
  secrets: 100_000,
  secret_versions: 10_000,
  versions: 1_000_000,
  // Below a third of the smallest volume in deploy/, so that one account does not fill it.
  bytes: 1024 ** 3,
  tokens: 2_000,
  teams: 100,
  grants: 10_000,
  secret_grants: 1_000,
  blocked_senders: 1_000,
  members: 1_000,
  uploads: 20,
  unaccepted_secrets: 100,
  unaccepted_bytes: 256 * 1024,
  unaccepted_total: 1024 * 1024,
};

/** Names of the amounts, for messages. */
export const quotaTexts: Readonly<Record<QuotaName, string>> = {
  secrets: "secrets of an account",
  secret_versions: "versions of a secret",
  versions: "versions of an account's secrets and files",
  bytes: "bytes of an account's values and files",
  tokens: "logins with a live token of an account",
  teams: "teams of an account",
  grants: "shares of an account's secrets",
  secret_grants: "shares of a secret",
  blocked_senders: "blocked senders of a user",
  members: "members of a team",
  uploads: "simultaneous uploads of an account",
  unaccepted_secrets: "secrets shared with a recipient who has shared nothing with you",
  unaccepted_bytes: "bytes of metadata shared with a recipient who has shared nothing with you",
  unaccepted_total:
    "bytes of metadata that a recipient has from those with whom nothing was shared",
};
