// Migration steps that SQLite and PostgreSQL share. A released step is never edited.

/** At most one waiting message of each kind per sender and recipient. */
export const oneWaitingEmail = `
  DELETE FROM outbox WHERE id NOT IN (SELECT MIN(id) FROM outbox GROUP BY kind, sender, recipient);
  CREATE UNIQUE INDEX outbox_by_what ON outbox (kind, sender, recipient);
  `;

/** Only accounts and teams have revisions. */
export const revisionsOfSubjects = `
  DELETE FROM list_revisions WHERE substr(subject, 8) NOT IN (SELECT email FROM users)
    AND substr(subject, 7) NOT IN (SELECT email FROM users) AND substr(subject, 6) NOT IN (SELECT group_id FROM teams);
  `;

/** The ids of the master keys in use are read at each start. */
export const versionsByKey = `
  CREATE INDEX secret_versions_by_key ON secret_versions (key_id);
  CREATE INDEX file_versions_by_key ON file_versions (key_id);
  `;

/**
 * The migration step for names of teams that look alike (team-look.ts), empty for those before
 * until a server starts. It is never edited.
 */
export const teamLooks = `
  ALTER TABLE teams ADD COLUMN look text NOT NULL DEFAULT '';
  CREATE INDEX teams_by_look ON teams (look);
  `;

/**
 * The migration step for names of teams that differ in case, empty for those before until a server
 * starts. It is never edited.
 */
export const teamLowerLooks = `
  ALTER TABLE teams ADD COLUMN lower_look text NOT NULL DEFAULT '';
  CREATE INDEX teams_by_lower_look ON teams (lower_look);
  `;

/**
 * The migration step for long looks, now digests: empty until a server starts. It is never edited.
 */
export const shortTeamLooks = `
  UPDATE teams SET look = '', lower_look = '' WHERE length(look) > 256 OR length(lower_look) > 256`;

/**
 * The migration step that adds the MACs of rows, and the ids of teams (never the same for two teams
 * of one name). It is never edited.
 */
export const rowMacColumns = `
  ALTER TABLE teams ADD COLUMN id text NOT NULL DEFAULT '';
  ${[
    "users",
    "refresh_tokens",
    "access_tokens",
    "sessions",
    "email_proofs",
    "teams",
    "team_members",
    "person_grants",
    "team_grants",
  ]
    .map((table) => `ALTER TABLE ${table} ADD COLUMN mac text NOT NULL DEFAULT '';`)
    .join("\n  ")}
  `;

/**
 * Returns the migration step that adds the identities of workloads. It is never edited.
 * @param text type of a column with text
 * @param time type of a column with a timestamp
 * @param options of the table
 */
export const identityTable = (text: string, time: string, options: string): string => `
  CREATE TABLE identities (
    issuer ${text} NOT NULL,
    subject ${text} NOT NULL,
    email ${text} NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    scope ${text} NOT NULL,
    created_at ${time} NOT NULL,
    mac ${text} NOT NULL DEFAULT '',
    PRIMARY KEY (issuer, subject)
  ) ${options};
  CREATE INDEX identities_by_email ON identities (email);
  ALTER TABLE admin_actions ADD COLUMN identity ${text} NOT NULL DEFAULT '';
  `;

/**
 * Returns the migration step that adds the consumers of secrets and files. It is never edited.
 * @param text type of a column with text
 * @param time type of a column with a timestamp
 * @param options of the table
 */
export const consumerTables = (text: string, time: string, options: string): string =>
  ["secret", "file"]
    .map(
      (kind) => `
  CREATE TABLE ${kind}_consumers (
    ${kind}_id ${text} NOT NULL REFERENCES ${kind}s (id) ON DELETE CASCADE,
    consumer ${text} NOT NULL,
    version integer NOT NULL,
    read_at ${time} NOT NULL,
    account ${text} NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    PRIMARY KEY (${kind}_id, consumer)
  ) ${options};
  CREATE INDEX ${kind}_consumers_by_time ON ${kind}_consumers (read_at);
  CREATE INDEX ${kind}_consumers_by_account ON ${kind}_consumers (account);
  `,
    )
    .join("");

/**
 * Returns the migration step that keeps one row of a consumer for each account that names it: an
 * account replaced the rows of another before. It is never edited.
 * @param text type of a column with text
 * @param time type of a column with a timestamp
 * @param options of the table
 */
export const consumersByAccount = (text: string, time: string, options: string): string =>
  ["secret", "file"]
    .map(
      (kind) => `
  ALTER TABLE ${kind}_consumers RENAME TO former_${kind}_consumers;
  DROP INDEX ${kind}_consumers_by_time;
  DROP INDEX ${kind}_consumers_by_account;
  CREATE TABLE ${kind}_consumers (
    ${kind}_id ${text} NOT NULL REFERENCES ${kind}s (id) ON DELETE CASCADE,
    consumer ${text} NOT NULL,
    version integer NOT NULL,
    read_at ${time} NOT NULL,
    account ${text} NOT NULL REFERENCES users (email) ON DELETE CASCADE,
    PRIMARY KEY (${kind}_id, consumer, account)
  ) ${options};
  INSERT INTO ${kind}_consumers (${kind}_id, consumer, version, read_at, account)
    SELECT ${kind}_id, consumer, version, read_at, account FROM former_${kind}_consumers;
  DROP TABLE former_${kind}_consumers;
  CREATE INDEX ${kind}_consumers_by_time ON ${kind}_consumers (read_at);
  CREATE INDEX ${kind}_consumers_by_account ON ${kind}_consumers (account);
  `,
    )
    .join("");

/**
 * Returns the migration step for the times at which access tokens were issued, 0 for those before.
 * It is never edited.
 * @param time type of a column with a timestamp
 */
export const tokenIssues = (time: string): string =>
  `ALTER TABLE access_tokens ADD COLUMN issued_at ${time} NOT NULL DEFAULT 0;`;

/**
 * Returns the migration step for the issuers of the identities that tokens were issued for. It is
 * never edited.
 * @param text type of a column with text
 */
export const tokenIssuers = (text: string): string => `
  ALTER TABLE access_tokens ADD COLUMN issuer ${text} NOT NULL DEFAULT '';
  UPDATE access_tokens SET issuer = coalesce(
    (SELECT MIN(i.issuer) FROM identities AS i WHERE i.email = access_tokens.email AND i.subject = access_tokens.name), '');
  `;

/** The types of one database. */
interface ColumnTypes {
  readonly text: string;
  readonly integer: string;
  readonly real: string;
  /** Options of a table. */
  readonly kind: string;
}

/**
 * Returns the migration step for deleted secrets and files that can be restored until `ends_at`. A
 * secret in the trash has another name and deadline (retired-name.ts): here are its own. It is
 * never edited.
 */
export function trashTables({ text, integer, real, kind }: ColumnTypes): string {
  const table = (name: string, more: string): string => `
  CREATE TABLE trashed_${name} (
    id ${text} PRIMARY KEY REFERENCES ${name} (id) ON DELETE CASCADE,
    owner ${text} NOT NULL,
    name ${text} NOT NULL,
    trashed_at ${real} NOT NULL,
    ends_at ${real} NOT NULL,
    versions ${integer} NOT NULL,
    bytes ${integer} NOT NULL${more}
  ) ${kind};
  CREATE INDEX trashed_${name}_by_name ON trashed_${name} (owner, name);
  CREATE INDEX trashed_${name}_by_time ON trashed_${name} (owner, trashed_at, id);
  CREATE INDEX trashed_${name}_by_end ON trashed_${name} (ends_at);`;
  return `${table("secrets", `,\n    delete_at ${real} NOT NULL`)}${table("files", "")}`;
}
