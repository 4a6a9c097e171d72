/** The columns of a table, and of its primary key. The key orders the rows in a backup. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

/**
 * Tables included in a backup, parents before their children. A test compares the schemas with this
 * list and the next one: no new table or column is forgotten.
 */
export const backedUpTables: readonly TableShape[] = [
  { name: "settings", columns: ["name", "value"], key: ["name"] },
  {
    name: "users",
    columns: ["email", "password_hash", "created_at", "disabled", "mac"],
    key: ["email"],
  },
  {
    name: "refresh_tokens",
    columns: [
      "digest",
      "email",
      "scope",
      "hours",
      "last_used_at",
      "allowed_networks",
      "ends_at",
      "mac",
    ],
    key: ["digest"],
  },
  {
    name: "access_tokens",
    columns: [
      "digest",
      "refresh_digest",
      "email",
      "scope",
      "expires_at",
      "created_at",
      "issued_at",
      "used_at",
      "name",
      "issuer",
      "allowed_networks",
      "mac",
    ],
    key: ["digest"],
  },
  {
    name: "secrets",
    columns: ["id", "owner", "name", "next_version", "delete_minutes", "delete_at"],
    key: ["id"],
  },
  {
    name: "secret_versions",
    columns: [
      "secret_id",
      "version",
      "metadata",
      "created_at",
      "updated_at",
      "key_id",
      "wrapped_key",
      "sealed",
      "created_by",
    ],
    key: ["secret_id", "version"],
  },
  { name: "files", columns: ["id", "owner", "name", "next_version"], key: ["id"] },
  {
    name: "file_versions",
    columns: [
      "file_id",
      "version",
      "size",
      "created_at",
      "blob_id",
      "key_id",
      "wrapped_key",
      "sealed",
    ],
    key: ["file_id", "version"],
  },
  { name: "staged_blobs", columns: ["blob_id", "staged_at"], key: ["blob_id"] },
  { name: "file_chunks", columns: ["blob_id", "position", "sealed"], key: ["blob_id", "position"] },
  {
    name: "teams",
    columns: ["group_id", "creator", "id", "mac", "look", "lower_look"],
    key: ["group_id"],
  },
  { name: "team_members", columns: ["group_id", "email", "mac"], key: ["group_id", "email"] },
  {
    name: "person_grants",
    columns: ["secret_id", "email", "reads", "writes", "mac"],
    key: ["secret_id", "email"],
  },
  {
    name: "team_grants",
    columns: ["secret_id", "group_id", "reads", "writes", "mac"],
    key: ["secret_id", "group_id"],
  },
  {
    name: "hidden_team_grants",
    columns: ["secret_id", "group_id", "email"],
    key: ["secret_id", "group_id", "email"],
  },
  {
    name: "trashed_secrets",
    columns: ["id", "owner", "name", "trashed_at", "ends_at", "versions", "bytes", "delete_at"],
    key: ["id"],
  },
  {
    name: "trashed_files",
    columns: ["id", "owner", "name", "trashed_at", "ends_at", "versions", "bytes"],
    key: ["id"],
  },
  { name: "blocked_senders", columns: ["email", "sender"], key: ["email", "sender"] },
  {
    name: "identities",
    columns: ["issuer", "subject", "email", "scope", "created_at", "mac"],
    key: ["issuer", "subject"],
  },
  ...["secret", "file"].map((kind) => ({
    name: `${kind}_consumers`,
    columns: [`${kind}_id`, "consumer", "version", "read_at", "account"],
    key: [`${kind}_id`, "consumer", "account"],
  })),
  {
    name: "outbox",
    columns: ["id", "kind", "recipient", "sender", "attempts", "due_at"],
    key: ["id"],
  },
  { name: "list_revisions", columns: ["subject", "revision"], key: ["subject"] },
];

/**
 * Tables omitted from a backup: their rows expire within hours (users log in again and request
 * another email), are counted again, or wait for the audit log.
 */
export const omittedTables: readonly string[] = [
  "sessions",
  "email_proofs",
  "login_failures",
  "account_usage",
  "staged_sizes",
  "admin_actions",
];

/** One column of one row. */
export type Cell = string | number | Uint8Array;

/** Tables as rows of columns, independent of their meaning: for backups. */
export interface RawTables {
  /**
   * Returns rows in the order of the table's key, starting after `after`; cells are in the order of
   * its columns.
   */
  page(table: TableShape, after: readonly Cell[] | undefined, atMost: number): Promise<Cell[][]>;
  insert(table: TableShape, row: readonly Cell[]): Promise<void>;
  /** Returns the name of a table that is not empty. */
  firstWithRows(): Promise<string | undefined>;
}
