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
const postgresTokenLimits = `
  ALTER TABLE refresh_tokens ADD COLUMN allowed_networks text COLLATE "C" NOT NULL DEFAULT '';
  ALTER TABLE refresh_tokens ADD COLUMN ends_at double precision NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN allowed_networks text COLLATE "C" NOT NULL DEFAULT '';
  `;

/**
 * The migration step that counts a secret or file for its new owner when it is handed over. It is
 * never edited.
 */
const postgresOwnerChanges = `
  CREATE FUNCTION recount_secret_owner() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE version_count bigint; byte_count bigint; grant_count bigint;
  BEGIN
    SELECT count(*), coalesce(sum(octet_length(sealed) + octet_length(metadata)), 0) INTO version_count, byte_count
      FROM secret_versions WHERE secret_id = NEW.id;
    SELECT (SELECT count(*) FROM person_grants WHERE secret_id = NEW.id) + (SELECT count(*) FROM team_grants WHERE secret_id = NEW.id)
      INTO grant_count;
    UPDATE account_usage SET secrets = secrets - 1, versions = versions - version_count, bytes = bytes - byte_count,
      grants = grants - grant_count WHERE email = OLD.owner;
    UPDATE account_usage SET secrets = secrets + 1, versions = versions + version_count, bytes = bytes + byte_count,
      grants = grants + grant_count WHERE email = NEW.owner;
    RETURN NULL;
  END $$;
  CREATE TRIGGER recount_secret_owner AFTER UPDATE OF owner ON secrets FOR EACH ROW
    WHEN (NEW.owner <> OLD.owner) EXECUTE FUNCTION recount_secret_owner();
  CREATE FUNCTION recount_file_owner() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE version_count bigint; byte_count bigint;
  BEGIN
    SELECT count(*), coalesce(sum(size), 0) INTO version_count, byte_count FROM file_versions WHERE file_id = NEW.id;
    UPDATE account_usage SET versions = versions - version_count, bytes = bytes - byte_count WHERE email = OLD.owner;
    UPDATE account_usage SET versions = versions + version_count, bytes = bytes + byte_count WHERE email = NEW.owner;
    RETURN NULL;
  END $$;
  CREATE TRIGGER recount_file_owner AFTER UPDATE OF owner ON files FOR EACH ROW
    WHEN (NEW.owner <> OLD.owner) EXECUTE FUNCTION recount_file_owner();
  `;

/**
 * The migration step that counts the shares of each account by triggers, as its secrets are
 * counted. It is never edited.
 */
const postgresGrantCounts = `
  ALTER TABLE account_usage ADD COLUMN grants bigint NOT NULL DEFAULT 0;
  UPDATE account_usage SET grants =
    (SELECT count(*) FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id WHERE s.owner = email)
    + (SELECT count(*) FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id WHERE s.owner = email);
  CREATE FUNCTION count_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants + 1 WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
    RETURN NULL;
  END $$;
  CREATE FUNCTION uncount_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants - 1 WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
    RETURN NULL;
  END $$;
  CREATE FUNCTION uncount_grants_of_secret() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants - (SELECT count(*) FROM person_grants WHERE secret_id = OLD.id)
      - (SELECT count(*) FROM team_grants WHERE secret_id = OLD.id) WHERE email = OLD.owner;
    RETURN OLD;
  END $$;
  CREATE TRIGGER count_grant AFTER INSERT ON person_grants FOR EACH ROW EXECUTE FUNCTION count_grant();
  CREATE TRIGGER count_grant AFTER INSERT ON team_grants FOR EACH ROW EXECUTE FUNCTION count_grant();
  CREATE TRIGGER uncount_grant AFTER DELETE ON person_grants FOR EACH ROW EXECUTE FUNCTION uncount_grant();
  CREATE TRIGGER uncount_grant AFTER DELETE ON team_grants FOR EACH ROW EXECUTE FUNCTION uncount_grant();
  CREATE TRIGGER uncount_grants_of_secret BEFORE DELETE ON secrets FOR EACH ROW EXECUTE FUNCTION uncount_grants_of_secret();
  `;

/**
 * The PostgreSQL schema as migration steps; step n sets `schema_version` to n. A released step is
 * never edited. The columns are the same as in SQLite (sqlite-migrations.ts): both share their SQL.
 * The collation "C" sorts UTF-8 by code point. Times are double precision: milliseconds since the
 * epoch exceed 64-bit integers. Metadata is text: jsonb rejects `\u0000` and does not keep the
 * order of keys. Sealed bytes are EXTERNAL: they do not compress.
 */
export const postgresMigrations: readonly string[] = [
  `
  -- Holds no rows: locked by every write, so that one which met too many others can be alone.
  CREATE TABLE write_turns ();

  CREATE TABLE settings (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL);

  CREATE TABLE users (
    email text COLLATE "C" PRIMARY KEY,
    password_hash text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL
  );

  CREATE TABLE refresh_tokens (
    digest text COLLATE "C" PRIMARY KEY,
    email text COLLATE "C" NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    scope text COLLATE "C" NOT NULL,
    hours double precision NOT NULL,
    last_used_at double precision NOT NULL
  );
  CREATE INDEX refresh_tokens_by_use ON refresh_tokens (last_used_at);
  CREATE INDEX refresh_tokens_by_email ON refresh_tokens (email);

  CREATE TABLE access_tokens (
    digest text COLLATE "C" PRIMARY KEY,
    refresh_digest text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    scope text COLLATE "C" NOT NULL,
    expires_at double precision NOT NULL
  );
  CREATE INDEX access_tokens_by_refresh ON access_tokens (refresh_digest);
  CREATE INDEX access_tokens_by_email ON access_tokens (email);
  CREATE INDEX access_tokens_by_expiry ON access_tokens (expires_at);

  CREATE TABLE login_failures (subject text COLLATE "C" NOT NULL, at double precision NOT NULL);
  CREATE INDEX login_failures_by_subject ON login_failures (subject, at);
  CREATE INDEX login_failures_by_time ON login_failures (at);

  CREATE TABLE secrets (
    id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL REFERENCES users (email),
    name text COLLATE "C" NOT NULL,
    next_version bigint NOT NULL,
    delete_minutes double precision NOT NULL,
    delete_at double precision NOT NULL,
    UNIQUE (owner, name)
  );
  CREATE INDEX secrets_by_deadline ON secrets (delete_at);
  CREATE INDEX secrets_by_name ON secrets (name);

  CREATE TABLE secret_versions (
    secret_id text COLLATE "C" NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    version bigint NOT NULL,
    metadata text COLLATE "C" NOT NULL,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    wrapped_key bytea NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (secret_id, version)
  );
  ALTER TABLE secret_versions ALTER COLUMN sealed SET STORAGE EXTERNAL;

  CREATE TABLE files (
    id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL REFERENCES users (email),
    name text COLLATE "C" NOT NULL,
    next_version bigint NOT NULL,
    UNIQUE (owner, name)
  );

  CREATE TABLE file_versions (
    file_id text COLLATE "C" NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    version bigint NOT NULL,
    size bigint NOT NULL,
    created_at double precision NOT NULL,
    blob_id text COLLATE "C" NOT NULL UNIQUE,
    key_id text COLLATE "C" NOT NULL,
    wrapped_key bytea NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (file_id, version)
  );

  CREATE TABLE staged_blobs (blob_id text COLLATE "C" PRIMARY KEY, staged_at double precision NOT NULL);
  CREATE INDEX staged_blobs_by_time ON staged_blobs (staged_at);
  CREATE TABLE file_chunks (
    blob_id text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    sealed bytea NOT NULL,
    PRIMARY KEY (blob_id, position)
  );
  ALTER TABLE file_chunks ALTER COLUMN sealed SET STORAGE EXTERNAL;

  CREATE TABLE teams (
    group_id text COLLATE "C" PRIMARY KEY,
    creator text COLLATE "C" NOT NULL REFERENCES users (email)
  );

  CREATE TABLE team_members (
    group_id text COLLATE "C" NOT NULL REFERENCES teams (group_id) ON DELETE CASCADE,
    email text COLLATE "C" NOT NULL,
    PRIMARY KEY (group_id, email)
  );
  CREATE INDEX team_members_by_email ON team_members (email);

  CREATE TABLE person_grants (
    secret_id text COLLATE "C" NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    email text COLLATE "C" NOT NULL,
    reads integer NOT NULL,
    writes integer NOT NULL,
    PRIMARY KEY (secret_id, email)
  );
  CREATE INDEX person_grants_by_email ON person_grants (email);

  CREATE TABLE team_grants (
    secret_id text COLLATE "C" NOT NULL REFERENCES secrets (id) ON DELETE CASCADE,
    group_id text COLLATE "C" NOT NULL REFERENCES teams (group_id) ON DELETE CASCADE,
    reads integer NOT NULL,
    writes integer NOT NULL,
    PRIMARY KEY (secret_id, group_id)
  );
  CREATE INDEX team_grants_by_team ON team_grants (group_id);

  CREATE TABLE hidden_team_grants (
    secret_id text COLLATE "C" NOT NULL,
    group_id text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL,
    PRIMARY KEY (secret_id, group_id, email),
    FOREIGN KEY (secret_id, group_id) REFERENCES team_grants (secret_id, group_id) ON DELETE CASCADE
  );

  CREATE TABLE sessions (
    digest text COLLATE "C" PRIMARY KEY,
    email text COLLATE "C" NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    created_at double precision NOT NULL,
    expires_at double precision NOT NULL
  );
  CREATE INDEX sessions_by_email ON sessions (email);
  CREATE INDEX sessions_by_expiry ON sessions (expires_at);

  CREATE TABLE email_proofs (
    digest text COLLATE "C" PRIMARY KEY,
    email text COLLATE "C" NOT NULL,
    expires_at double precision NOT NULL
  );
  CREATE INDEX email_proofs_by_email ON email_proofs (email);
  CREATE INDEX email_proofs_by_expiry ON email_proofs (expires_at);

  CREATE TABLE outbox (
    id text COLLATE "C" PRIMARY KEY,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('invitation', 'confirmation')),
    recipient text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL,
    attempts integer NOT NULL,
    due_at double precision NOT NULL
  );
  CREATE INDEX outbox_by_due ON outbox (due_at);
  `,
  `CREATE TABLE list_revisions (subject text COLLATE "C" PRIMARY KEY, revision text COLLATE "C" NOT NULL)`,
  `CREATE INDEX secrets_in_order ON secrets (owner, name, delete_at)`,
  oneWaitingEmail,
  // Triggers count the usage of each account: they cover every way to change a row
  // (docs/adr/0007-quotas.md).
  `
  CREATE TABLE account_usage (
    email text COLLATE "C" PRIMARY KEY REFERENCES users (email) ON DELETE CASCADE,
    secrets bigint NOT NULL DEFAULT 0,
    versions bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0
  );
  CREATE INDEX teams_by_creator ON teams (creator);
  CREATE TABLE staged_sizes (
    blob_id text COLLATE "C" PRIMARY KEY REFERENCES staged_blobs (blob_id) ON DELETE CASCADE,
    owner text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL
  );
  CREATE INDEX staged_sizes_by_owner ON staged_sizes (owner);

  INSERT INTO account_usage (email) SELECT email FROM users;
  UPDATE account_usage SET secrets = (SELECT count(*) FROM secrets WHERE owner = email);
  UPDATE account_usage SET (versions, bytes) = (
    SELECT count(*), coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0)
    FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id WHERE s.owner = email);
  UPDATE account_usage SET (versions, bytes) = (
    SELECT account_usage.versions + count(*), account_usage.bytes + coalesce(sum(v.size), 0)
    FROM files AS f JOIN file_versions AS v ON v.file_id = f.id WHERE f.owner = email);

  CREATE FUNCTION count_user() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO account_usage (email) VALUES (NEW.email);
    RETURN NULL;
  END $$;
  CREATE TRIGGER count_user AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION count_user();
  CREATE FUNCTION count_secret() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET secrets = secrets + 1 WHERE email = NEW.owner;
    RETURN NULL;
  END $$;
  CREATE TRIGGER count_secret AFTER INSERT ON secrets FOR EACH ROW EXECUTE FUNCTION count_secret();
  CREATE FUNCTION uncount_secret() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage AS u SET secrets = u.secrets - 1, versions = u.versions - c.versions, bytes = u.bytes - c.bytes
      FROM (SELECT count(*) AS versions, coalesce(sum(octet_length(sealed) + octet_length(metadata)), 0) AS bytes
        FROM secret_versions WHERE secret_id = OLD.id) AS c WHERE u.email = OLD.owner;
    RETURN OLD;
  END $$;
  CREATE TRIGGER uncount_secret BEFORE DELETE ON secrets FOR EACH ROW EXECUTE FUNCTION uncount_secret();
  CREATE FUNCTION count_secret_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET versions = versions + 1, bytes = bytes + octet_length(NEW.sealed) + octet_length(NEW.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER count_secret_version AFTER INSERT ON secret_versions FOR EACH ROW EXECUTE FUNCTION count_secret_version();
  CREATE FUNCTION uncount_secret_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET versions = versions - 1, bytes = bytes - octet_length(OLD.sealed) - octet_length(OLD.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER uncount_secret_version AFTER DELETE ON secret_versions FOR EACH ROW EXECUTE FUNCTION uncount_secret_version();
  CREATE FUNCTION recount_secret_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET bytes = bytes + octet_length(NEW.metadata) - octet_length(OLD.metadata)
      WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER recount_secret_version AFTER UPDATE OF metadata ON secret_versions FOR EACH ROW EXECUTE FUNCTION recount_secret_version();
  CREATE FUNCTION count_file_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET versions = versions + 1, bytes = bytes + NEW.size
      WHERE email = (SELECT owner FROM files WHERE id = NEW.file_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER count_file_version AFTER INSERT ON file_versions FOR EACH ROW EXECUTE FUNCTION count_file_version();
  CREATE FUNCTION uncount_file_version() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET versions = versions - 1, bytes = bytes - OLD.size
      WHERE email = (SELECT owner FROM files WHERE id = OLD.file_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER uncount_file_version AFTER DELETE ON file_versions FOR EACH ROW EXECUTE FUNCTION uncount_file_version();
  `,
  revisionsOfSubjects,
  `
  ALTER TABLE users ADD COLUMN disabled integer NOT NULL DEFAULT 0;

  ALTER TABLE access_tokens ADD COLUMN created_at double precision NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN used_at double precision NOT NULL DEFAULT 0;
  UPDATE access_tokens SET created_at =
    COALESCE((SELECT last_used_at FROM refresh_tokens WHERE digest = access_tokens.refresh_digest), 0);
  ALTER TABLE sessions ADD COLUMN used_at double precision NOT NULL DEFAULT 0;
  UPDATE sessions SET used_at = created_at;

  CREATE TABLE blocked_senders (
    email text COLLATE "C" NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    sender text COLLATE "C" NOT NULL,
    PRIMARY KEY (email, sender)
  );

  CREATE TABLE admin_actions (
    id text COLLATE "C" PRIMARY KEY,
    at double precision NOT NULL,
    action text COLLATE "C" NOT NULL,
    email text COLLATE "C" NOT NULL
  );

  ALTER TABLE outbox DROP CONSTRAINT outbox_kind_check;
  ALTER TABLE outbox ADD CONSTRAINT outbox_kind_check CHECK (kind IN ('invitation', 'confirmation', 'password_changed'));
  `,
  versionsByKey,
  // Who wrote a version; empty for those before.
  `ALTER TABLE secret_versions ADD COLUMN created_by text COLLATE "C" NOT NULL DEFAULT ''`,
  // Teams with the name of an address, and what was shared with them: it was meant for the user.
  // Tokens and sessions have names.
  `
  UPDATE list_revisions SET revision = revision || '-' WHERE EXISTS (
    SELECT 1 FROM teams WHERE group_id LIKE '%@%' OR group_id LIKE '%＠%' OR group_id LIKE '%﹫%');
  DELETE FROM teams WHERE group_id LIKE '%@%' OR group_id LIKE '%＠%' OR group_id LIKE '%﹫%';
  ALTER TABLE access_tokens ADD COLUMN name text COLLATE "C" NOT NULL DEFAULT '';
  ALTER TABLE sessions ADD COLUMN name text COLLATE "C" NOT NULL DEFAULT '';
  `,
  postgresGrantCounts,
  rowMacColumns,
  postgresOwnerChanges,
  postgresTokenLimits,
  teamLooks,
  teamLowerLooks,
  identityTable('text COLLATE "C"', "double precision", ""),
  consumerTables('text COLLATE "C"', "double precision", ""),
  trashTables({
    text: 'text COLLATE "C"',
    integer: "bigint",
    real: "double precision",
    kind: "",
  }),
  tokenIssues("double precision"),
  tokenIssuers('text COLLATE "C"'),
  shortTeamLooks,
  consumersByAccount('text COLLATE "C"', "double precision", ""),
];
