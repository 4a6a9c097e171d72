import { randomUUID } from "node:crypto";
import type { SqlConnection } from "./sql-connection.ts";
import type { ListRevisionTable } from "../tables/list-revision-table.ts";

/**
 * Gives a new revision to the owner of each secret and to the users and teams it is granted to. `secretIds` is a list or a query.
 */
function touchSql(secretIds: string): string {
  return `
    INSERT INTO list_revisions (subject, revision)
      SELECT subject, CAST(?2 AS text) FROM (
        SELECT 'person:' || owner AS subject FROM secrets WHERE id IN (${secretIds})
        UNION SELECT 'person:' || email FROM person_grants WHERE secret_id IN (${secretIds})
        UNION SELECT 'team:' || group_id FROM team_grants WHERE secret_id IN (${secretIds})
      ) AS subjects WHERE true ORDER BY subject
    ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision`;
}

const TOUCH_ONE = touchSql("?1");
const TOUCH_GRANTED = touchSql("SELECT secret_id FROM team_grants WHERE group_id = ?1");
const TOUCH_DUE = touchSql("SELECT id FROM secrets WHERE delete_at <= ?1");

export function sqlListRevisions(db: SqlConnection): ListRevisionTable {
  return {
    async of(email) {
      // The revision of a team applies to its members, so that a grant to a team of thousands writes one row.
      const rows = await db.all(
        `SELECT r.subject AS subject, r.revision AS revision FROM list_revisions AS r WHERE r.subject = 'person:' || ?1
         UNION ALL
         SELECT r.subject, r.revision FROM team_members AS m JOIN list_revisions AS r ON r.subject = 'team:' || m.group_id
           WHERE m.email = ?1
         ORDER BY subject`,
        email,
      );
      return rows.map((row) => row.text("revision")).join(".");
    },
    async touchUsers(emails) {
      const sql =
        "INSERT INTO list_revisions (subject, revision) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET revision = excluded.revision";
      for (const email of [...emails].sort()) await db.run(sql, `person:${email}`, randomUUID());
    },
    async touchUsersOfSecret(secretId) {
      await db.run(TOUCH_ONE, secretId, randomUUID());
    },
    async touchUsersOfTeamSecrets(groupId) {
      await db.run(TOUCH_GRANTED, groupId, randomUUID());
    },
    async touchUsersOfDueSecrets(now) {
      await db.run(TOUCH_DUE, now, randomUUID());
    },
  };
}
