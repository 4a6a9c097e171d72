/** A table as a backup sees it: its columns, and those of its primary key, by which its rows are gone through. */
export interface TableShape {
  readonly name: string;
  readonly columns: readonly string[];
  readonly key: readonly string[];
}

/**
 * What a backup holds, parents before what refers to them. The schemas are compared with this list and the next by a test, so that no new
 * table or column is forgotten.
 */
export const keptTables: readonly TableShape[] = [
  { name: "settings", columns: ["name", "value"], key: ["name"] },
  { name: "users", columns: ["email", "password_hash", "created_at"], key: ["email"] },
  { name: "refresh_tokens", columns: ["digest", "email", "scope", "hours", "last_used_at"], key: ["digest"] },
  { name: "access_tokens", columns: ["digest", "refresh_digest", "email", "scope", "expires_at"], key: ["digest"] },
  { name: "secrets", columns: ["id", "owner", "name", "next_version", "delete_minutes", "delete_at"], key: ["id"] },
  {
    name: "secret_versions",
    columns: ["secret_id", "version", "metadata", "created_at", "updated_at", "key_id", "wrapped_key", "sealed"],
    key: ["secret_id", "version"],
  },
  { name: "files", columns: ["id", "owner", "name", "next_version"], key: ["id"] },
  {
    name: "file_versions",
    columns: ["file_id", "version", "size", "created_at", "blob_id", "key_id", "wrapped_key", "sealed"],
    key: ["file_id", "version"],
  },
  { name: "staged_blobs", columns: ["blob_id", "staged_at"], key: ["blob_id"] },
  { name: "file_chunks", columns: ["blob_id", "position", "sealed"], key: ["blob_id", "position"] },
  { name: "teams", columns: ["group_id", "creator"], key: ["group_id"] },
  { name: "team_members", columns: ["group_id", "email"], key: ["group_id", "email"] },
  { name: "person_grants", columns: ["secret_id", "email", "reads", "writes"], key: ["secret_id", "email"] },
  { name: "team_grants", columns: ["secret_id", "group_id", "reads", "writes"], key: ["secret_id", "group_id"] },
  { name: "hidden_team_grants", columns: ["secret_id", "group_id", "email"], key: ["secret_id", "group_id", "email"] },
  { name: "outbox", columns: ["id", "kind", "recipient", "sender", "attempts", "due_at"], key: ["id"] },
  { name: "list_revisions", columns: ["subject", "revision"], key: ["subject"] },
];

/** What is worth nothing an hour later: people log in again, and ask for another mail. */
export const leftOutTables: readonly string[] = ["sessions", "email_proofs", "login_failures"];
