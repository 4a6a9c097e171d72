import {
  consumerTables,
  consumersByAccount,
  identityTable,
  oneWaitingEmail,
  revisionsOfSubjects,
  rowMacColumns,
  shortTeamLooks,
  teamLooks,
  teamLowerLooks,
  tokenIssuers,
  tokenIssues,
  trashTables,
  versionsByKey,
} from "../sql/shared-migrations.ts";

/**
 * The migration step for tokens with networks, comma-separated, and an end, 0 for none. It is never
 * edited.
 */
const sqliteTokenLimits = `
  ALTER TABLE refresh_tokens ADD COLUMN allowed_networks TEXT NOT NULL DEFAULT '';
  ALTER TABLE refresh_tokens ADD COLUMN ends_at REAL NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN allowed_networks TEXT NOT NULL DEFAULT '';
  `;

/**
 * The migration step that counts a secret or file for its new owner when it is handed over. It is
 * never edited.
 */
const sqliteOwnerChanges = ["-", "+"]
  .map((sign) => {
    const [row, name] = sign === "-" ? ["OLD", "leave"] : ["NEW", "receive"];
    return `
  CREATE TRIGGER ${name}_secret AFTER UPDATE OF owner ON secrets WHEN NEW.owner <> OLD.owner BEGIN
    UPDATE account_usage SET (secrets, versions, bytes, grants) = (
      SELECT secrets ${sign} 1, versions ${sign} count(*),
        bytes ${sign} coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0),
        grants ${sign} ((SELECT count(*) FROM person_grants WHERE secret_id = NEW.id)
          + (SELECT count(*) FROM team_grants WHERE secret_id = NEW.id))
      FROM secret_versions AS v WHERE v.secret_id = NEW.id) WHERE email = ${row}.owner;
  END;
  CREATE TRIGGER ${name}_file AFTER UPDATE OF owner ON files WHEN NEW.owner <> OLD.owner BEGIN
    UPDATE account_usage SET (versions, bytes) = (
      SELECT versions ${sign} count(*), bytes ${sign} coalesce(sum(v.size), 0)
      FROM file_versions AS v WHERE v.file_id = NEW.id) WHERE email = ${row}.owner;
  END;`;
  })
  .join("");

/**
 * The migration step that counts the shares of each account by triggers, as its secrets are
 * counted. It is never edited.
 */
const sqliteGrantCounts = `
  ALTER TABLE account_usage ADD COLUMN grants INTEGER NOT NULL DEFAULT 0;
  UPDATE account_usage SET grants =
    (SELECT count(*) FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id WHERE s.owner = email)
    + (SELECT count(*) FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id WHERE s.owner = email);
  ${["person_grants", "team_grants"]
    .map(
      (table) => `
  CREATE TRIGGER count_${table} AFTER INSERT ON ${table} BEGIN
    UPDATE account_usage SET grants = grants + 1 WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
  END;
  CREATE TRIGGER uncount_${table} AFTER DELETE ON ${table} BEGIN
    UPDATE account_usage SET grants = grants - 1 WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
  END;
  CREATE TRIGGER uncount_${table}_of_secret BEFORE DELETE ON secrets BEGIN
    UPDATE account_usage SET grants = grants - (SELECT count(*) FROM ${table} WHERE secret_id = OLD.id) WHERE email = OLD.owner;
  END;`,
    )
    .join("")}
  `;

/**
 * The SQLite schema as migration steps; step n sets `user_version` to n. A released step is never
 * edited. Times are REAL: milliseconds since the epoch exceed 64-bit integers. BINARY collation on
 * UTF-8 sorts by code point.
 */
export const sqliteMigrations: readonly string[] = [
  `
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE users (email TEXT PRIMARY KEY, password_hash TEXT NOT NULL, created_at REAL NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE refresh_tokens (
    digest TEXT PRIMARY KEY,
    email TEXT NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    hours REAL NOT NULL,
    last_used_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX refresh_tokens_by_use ON refresh_tokens (last_used_at);
  CREATE INDEX refresh_tokens_by_email ON refresh_tokens (email);

  CREATE TABLE access_tokens (
    digest TEXT PRIMARY KEY,
    refresh_digest TEXT NOT NULL,
    email TEXT NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    scope TEXT NOT NULL,
    expires_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX access_tokens_by_refresh ON access_tokens (refresh_digest);
  CREATE INDEX access_tokens_by_email ON access_tokens (email);
  CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

  CREATE TABLE login_failures (subject TEXT NOT NULL, at REAL NOT NULL) STRICT;
  CREATE INDEX login_failures_by_subject ON login_failures (subject, at);
  CREATE INDEX login_failures_by_time ON login_failures (at);

  CREATE TABLE secrets (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL REFERENCES users (email),
    name TEXT NOT NULL,
    next_version INTEGER NOT NULL,
    delete_minutes REAL NOT NULL,
    delete_at REAL NOT NULL,
    UNIQUE (owner, name)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX secrets_by_deadline ON secrets (delete_at);

  CREATE TABLE secret_versions (
    secret_id TEXT NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    key_id TEXT NOT NULL,
    wrapped_key BLOB NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (secret_id, version)
  ) STRICT;

  CREATE TABLE files (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL REFERENCES users (email),
    name TEXT NOT NULL,
    next_version INTEGER NOT NULL,
    UNIQUE (owner, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE file_versions (
    file_id TEXT NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    size INTEGER NOT NULL,
    created_at REAL NOT NULL,
    blob_id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    wrapped_key BLOB NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (file_id, version)
  ) STRICT;

  CREATE TABLE staged_blobs (blob_id TEXT PRIMARY KEY, staged_at REAL NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE file_chunks (
    blob_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (blob_id, position)
  ) STRICT;
  `,
  // Grantees and members are addresses, not accounts: a grant takes effect when its grantee signs
  // up.
  `
  CREATE INDEX secrets_by_name ON secrets (name);

  CREATE TABLE teams (group_id TEXT PRIMARY KEY, creator TEXT NOT NULL REFERENCES users (email)) STRICT, WITHOUT ROWID;

  CREATE TABLE team_members (
    group_id TEXT NOT NULL REFERENCES teams (group_id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    PRIMARY KEY (group_id, email)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX team_members_by_email ON team_members (email);

  CREATE TABLE person_grants (
    secret_id TEXT NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    reads INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    PRIMARY KEY (secret_id, email)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX person_grants_by_email ON person_grants (email);

  CREATE TABLE team_grants (
    secret_id TEXT NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    group_id TEXT NOT NULL REFERENCES teams (group_id) ON DELETE CASCADE,
    reads INTEGER NOT NULL,
    writes INTEGER NOT NULL,
    PRIMARY KEY (secret_id, group_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX team_grants_by_team ON team_grants (group_id);

  CREATE TABLE hidden_team_grants (
    secret_id TEXT NOT NULL,
    group_id TEXT NOT NULL,
    email TEXT NOT NULL,
    PRIMARY KEY (secret_id, group_id, email),
    FOREIGN KEY (secret_id, group_id) REFERENCES team_grants (secret_id, group_id) ON DELETE CASCADE
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE sessions (
    digest TEXT PRIMARY KEY,
    email TEXT NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sessions_by_email ON sessions (email);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  CREATE TABLE email_proofs (digest TEXT PRIMARY KEY, email TEXT NOT NULL, expires_at REAL NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX email_proofs_by_email ON email_proofs (email);
  CREATE INDEX email_proofs_by_expiry ON email_proofs (expires_at);

  CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('invitation', 'confirmation')),
    recipient TEXT NOT NULL,
    sender TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outbox_by_due ON outbox (due_at);
  `,
  oneWaitingEmail,
  `
  CREATE TABLE list_revisions (subject TEXT PRIMARY KEY, revision TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX secrets_in_order ON secrets (owner, name, delete_at);
  `,
  // Triggers count the usage of each account: they cover every way to change a row
  // (docs/adr/0007-quotas.md).
  `
  CREATE TABLE account_usage (
    email TEXT PRIMARY KEY REFERENCES users (email) ON DELETE CASCADE,
    secrets INTEGER NOT NULL DEFAULT 0,
    versions INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX teams_by_creator ON teams (creator);
  CREATE TABLE staged_sizes (
    blob_id TEXT PRIMARY KEY REFERENCES staged_blobs (blob_id) ON DELETE CASCADE,
    owner TEXT NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX staged_sizes_by_owner ON staged_sizes (owner);
  CREATE INDEX staged_blobs_by_time ON staged_blobs (staged_at);

  INSERT INTO account_usage (email) SELECT email FROM users;
  UPDATE account_usage SET secrets = (SELECT count(*) FROM secrets WHERE owner = email);
  UPDATE account_usage SET (versions, bytes) = (
    SELECT count(*), coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0)
    FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id WHERE s.owner = email);
  UPDATE account_usage SET (versions, bytes) = (
    SELECT versions + count(*), bytes + coalesce(sum(v.size), 0)
    FROM files AS f JOIN file_versions AS v ON v.file_id = f.id WHERE f.owner = email);

  CREATE TRIGGER count_user AFTER INSERT ON users BEGIN INSERT INTO account_usage (email) VALUES (NEW.email); END;
  CREATE TRIGGER count_secret AFTER INSERT ON secrets BEGIN
    UPDATE account_usage SET secrets = secrets + 1 WHERE email = NEW.owner;
  END;
  CREATE TRIGGER uncount_secret BEFORE DELETE ON secrets BEGIN
    UPDATE account_usage SET (secrets, versions, bytes) = (
      SELECT secrets - 1, versions - count(*), bytes - coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0)
      FROM secret_versions AS v WHERE v.secret_id = OLD.id) WHERE email = OLD.owner;
  END;
  CREATE TRIGGER count_secret_version AFTER INSERT ON secret_versions BEGIN
    UPDATE account_usage SET versions = versions + 1, bytes = bytes + octet_length(NEW.sealed) + octet_length(NEW.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
  END;
  CREATE TRIGGER uncount_secret_version AFTER DELETE ON secret_versions BEGIN
    UPDATE account_usage SET versions = versions - 1, bytes = bytes - octet_length(OLD.sealed) - octet_length(OLD.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
  END;
  CREATE TRIGGER recount_secret_version AFTER UPDATE OF metadata ON secret_versions BEGIN
    UPDATE account_usage SET bytes = bytes + octet_length(NEW.metadata) - octet_length(OLD.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
  END;
  CREATE TRIGGER count_file_version AFTER INSERT ON file_versions BEGIN
    UPDATE account_usage SET versions = versions + 1, bytes = bytes + NEW.size
      WHERE email = (SELECT owner FROM files WHERE id = NEW.file_id);
  END;
  CREATE TRIGGER uncount_file_version AFTER DELETE ON file_versions BEGIN
    UPDATE account_usage SET versions = versions - 1, bytes = bytes - OLD.size
      WHERE email = (SELECT owner FROM files WHERE id = OLD.file_id);
  END;
  `,
  revisionsOfSubjects,
  // A token or session records its creation and its last use; users can be disabled and can block
  // senders; emails report a new password.
  `
  ALTER TABLE users ADD COLUMN disabled INTEGER NOT NULL DEFAULT 0;

  ALTER TABLE access_tokens ADD COLUMN created_at REAL NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
  UPDATE access_tokens SET created_at =
    COALESCE((SELECT last_used_at FROM refresh_tokens WHERE digest = access_tokens.refresh_digest), 0);
  ALTER TABLE sessions ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
  UPDATE sessions SET used_at = created_at;

  CREATE TABLE blocked_senders (
    email TEXT NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    sender TEXT NOT NULL,
    PRIMARY KEY (email, sender)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE admin_actions (id TEXT PRIMARY KEY, at REAL NOT NULL, action TEXT NOT NULL, email TEXT NOT NULL)
    STRICT, WITHOUT ROWID;

  ALTER TABLE outbox RENAME TO old_outbox;
  DROP INDEX outbox_by_due;
  DROP INDEX outbox_by_what;
  CREATE TABLE outbox (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('invitation', 'confirmation', 'password_changed')),
    recipient TEXT NOT NULL,
    sender TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO outbox SELECT id, kind, recipient, sender, attempts, due_at FROM old_outbox;
  DROP TABLE old_outbox;
  CREATE INDEX outbox_by_due ON outbox (due_at);
  CREATE UNIQUE INDEX outbox_by_what ON outbox (kind, sender, recipient);
  `,
  versionsByKey,
  // Who wrote a version; empty for those before.
  `
  ALTER TABLE secret_versions ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
  `,
  // Teams with the name of an address, from before such names were rejected: what was shared with
  // them was meant for the user. The lists that they changed get a new revision. Tokens and
  // sessions have names.
  `
  UPDATE list_revisions SET revision = revision || '-' WHERE EXISTS (
    SELECT 1 FROM teams WHERE group_id LIKE '%@%' OR group_id LIKE '%＠%' OR group_id LIKE '%﹫%');
  DELETE FROM teams WHERE group_id LIKE '%@%' OR group_id LIKE '%＠%' OR group_id LIKE '%﹫%';
  ALTER TABLE access_tokens ADD COLUMN name TEXT NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN name TEXT NOT NULL DEFAULT '';
  `,
  // All columns: a page of a list needs no row of `secrets`, whose order is the order of random
  // ids. Not on PostgreSQL: what a serializable transaction reads from an index alone locks a page
  // of the table, and half of the writes of other secrets conflict.
  `DROP INDEX secrets_in_order; CREATE INDEX secrets_in_order ON secrets (owner, name, delete_at, next_version, delete_minutes)`,
  sqliteGrantCounts,
  rowMacColumns,
  sqliteOwnerChanges,
  sqliteTokenLimits,
  teamLooks,
  teamLowerLooks,
  identityTable("TEXT", "REAL", "STRICT, WITHOUT ROWID"),
  consumerTables("TEXT", "REAL", "STRICT, WITHOUT ROWID"),
  trashTables({ text: "TEXT", integer: "INTEGER", real: "REAL", kind: "STRICT, WITHOUT ROWID" }),
  tokenIssues("REAL"),
  tokenIssuers("TEXT"),
  shortTeamLooks,
  consumersByAccount("TEXT", "REAL", "STRICT, WITHOUT ROWID"),
];
