import { randomUUID } from "node:crypto";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { ListRevisionTable } from "../tables/list-revision-table.ts";
import { subjects } from "../change-feed.ts";

/** Users of one secret that one statement gives a new revision. */
const PAGE_SIZE = 2_000;

/**
 * Gives a new revision to the owner of each secret and to the users and teams it is granted to,
 * without users who block the owner. `secretIds` is a list or a query, and so are `grants`, of
 * these secrets to users.
 */
function touchSql(secretIds: string, grants = "person_grants"): string {
  return `
    INSERT INTO list_revisions (subject, revision)
      SELECT subject, CAST(?2 AS text) FROM (
        SELECT 'person:' || owner AS subject FROM secrets WHERE id IN (${secretIds})
        UNION SELECT 'person:' || g.email FROM ${grants} AS g JOIN users AS u ON u.email = g.email JOIN secrets AS s ON s.id = g.secret_id
          WHERE g.secret_id IN (${secretIds}) AND NOT EXISTS (
            SELECT 1 FROM blocked_senders AS b WHERE b.email = g.email AND b.sender = s.owner)
        UNION SELECT 'team:' || group_id FROM team_grants WHERE secret_id IN (${secretIds})
      ) AS subjects WHERE true ORDER BY subject
    ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision
    RETURNING subject`;
}

const TOUCH_ONE = touchSql(
  "?1",
  `(SELECT secret_id, email FROM person_grants WHERE secret_id = ?1 AND email > ?3 ORDER BY email LIMIT ${PAGE_SIZE})`,
);
const LAST_OF_PAGE = `SELECT email FROM person_grants WHERE secret_id = ? AND email > ? ORDER BY email LIMIT 1 OFFSET ${PAGE_SIZE - 1}`;
const TOUCH_GRANTED = touchSql("SELECT secret_id FROM team_grants WHERE group_id = ?1");
const TOUCH_OWNED = touchSql("SELECT id FROM secrets WHERE owner = ?1");
const TOUCH_RECEIVED = touchSql("SELECT secret_id FROM person_grants WHERE email = ?1");
const TOUCH_OWNER_OF_FILE = `
  INSERT INTO list_revisions (subject, revision)
    SELECT 'files:' || owner, CAST(?2 AS text) FROM files WHERE id = ?1
  ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision
  RETURNING subject`;
// The revision of a team does not apply when the user has blocked all senders who share with it.
const OF = `
  SELECT s.subject AS subject, COALESCE(r.revision, '') AS revision
  FROM (SELECT 'person:' || ?1 AS subject, '' AS group_id UNION ALL SELECT 'team:' || group_id, group_id FROM team_members WHERE email = ?1) AS s
  LEFT JOIN list_revisions AS r ON r.subject = s.subject AND (
    s.group_id = '' OR NOT EXISTS (SELECT 1 FROM blocked_senders WHERE email = ?1) OR EXISTS (
      SELECT 1 FROM team_grants AS g JOIN secrets AS o ON o.id = g.secret_id WHERE g.group_id = s.group_id AND NOT EXISTS (
        SELECT 1 FROM blocked_senders AS b WHERE b.email = ?1 AND b.sender = o.owner)))
  ORDER BY s.subject`;
const TOUCH_USER = `
  INSERT INTO list_revisions (subject, revision)
    SELECT 'person:' || email, CAST(?2 AS text) FROM users WHERE email = ?1
  ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision
  RETURNING subject`;

/** @param changed called with each subject that got a new revision in the transaction */
export function sqlListRevisions(
  db: SqlConnection,
  changed: (subject: string) => void,
): ListRevisionTable {
  const touch = async (
    sql: string,
    ...[value, revision = randomUUID(), ...others]: [string, ...string[]]
  ): Promise<void> => {
    for (const row of await db.all(sql, value, revision, ...others)) changed(row.text("subject"));
  };
  return {
    async of(email) {
      // The revision of a team applies to its members: a grant to a team of thousands writes one
      // row.
      const rows = await db.all(OF, email);
      const revisions = rows
        .map((row) => row.text("revision"))
        .filter((revision) => revision !== "");
      return { revision: revisions.join("."), subjects: rows.map((row) => row.text("subject")) };
    },
    async ofFiles(email) {
      const row = await db.get(
        "SELECT revision FROM list_revisions WHERE subject = ?",
        subjects.files(email),
      );
      return row?.text("revision");
    },
    async touchUsers(emails) {
      for (const email of emails.toSorted()) await touch(TOUCH_USER, email);
    },
    async touchOwnerOfFile(fileId) {
      await touch(TOUCH_OWNER_OF_FILE, fileId);
    },
    async touchUsersOfSecret(secretId) {
      const revision = randomUUID();
      for (let after: string | undefined = ""; after !== undefined;) {
        // Together, because almost no secret has a second page.
        const [last]: [Row | undefined, void] = await Promise.all([
          db.get(LAST_OF_PAGE, secretId, after),
          touch(TOUCH_ONE, secretId, revision, after),
        ]);
        after = last?.text("email");
      }
    },
    async touchUsersOfTeamSecrets(groupId) {
      await touch(TOUCH_GRANTED, groupId);
    },
    async removeTeam(groupId) {
      await db.run("DELETE FROM list_revisions WHERE subject = ?", subjects.team(groupId));
    },
    async touchUsersOfOwner(email) {
      await touch(TOUCH_OWNED, email);
    },
    async touchUsersOfGrantee(email) {
      await touch(TOUCH_RECEIVED, email);
    },
  };
}
