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
  /** Members of one team. */
  readonly members: number;
  /** Uploads in progress at one server process. */
  readonly uploads: number;
  /** Secrets, and bytes of their metadata, of one sender in the list of a recipient who has not accepted the sender. */
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
  bytes: 10 * 1024 ** 3,
  tokens: 10_000,
  teams: 100,
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
  members: "members of a team",
  uploads: "simultaneous uploads of an account",
  unaccepted_secrets: "secrets shared with a recipient who has shared nothing with you",
  unaccepted_bytes: "bytes of metadata shared with a recipient who has shared nothing with you",
  unaccepted_total: "bytes of metadata that a recipient has from those with whom nothing was shared",
};
