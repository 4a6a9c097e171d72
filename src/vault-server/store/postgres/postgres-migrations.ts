/**
 * The PostgreSQL schema as migration steps; step n sets `schema_version` to n. A released step is never edited. The columns are
 * the same as in SQLite (sqlite-migrations.ts), so that both share their SQL. The collation "C" sorts UTF-8 by code point. Times
 * are double precision: milliseconds since the epoch exceed 64-bit integers. Metadata is text, not jsonb, which rejects `\u0000`
 * and does not keep the order of keys. Sealed bytes are EXTERNAL: they do not compress.
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
  `
  CREATE TABLE list_revisions (subject text COLLATE "C" PRIMARY KEY, revision text COLLATE "C" NOT NULL);
  `,
  `
  CREATE INDEX secrets_in_order ON secrets (owner, name, delete_at);
  `,
  `
  DELETE FROM outbox WHERE id NOT IN (SELECT MIN(id) FROM outbox GROUP BY kind, sender, recipient);
  CREATE UNIQUE INDEX outbox_by_what ON outbox (kind, sender, recipient);
  `,
];
