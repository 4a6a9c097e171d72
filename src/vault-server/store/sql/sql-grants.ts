import { permissionColumns, permissionOf } from "./permission-columns.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Permission } from "../../../protocol/responses.ts";
import type { Grant, Grantee } from "../records.ts";
import type { GrantTable } from "../tables/sharing-tables.ts";

export function sqlGrants(db: SqlConnection): GrantTable {
  const undoDismissals = (secretId: string, groupId: string): Promise<number> =>
    db.run("DELETE FROM hidden_team_grants WHERE secret_id = ? AND group_id = ?", secretId, groupId);
  const grant = async (secretId: string, grantee: Grantee, permission: Permission): Promise<void> => {
    const [table, column] = grantee.kind === "person" ? ["person_grants", "email"] : ["team_grants", "group_id"];
    const name = grantee.kind === "person" ? grantee.email : grantee.groupId;
    await db.run(
      `INSERT INTO ${table} (secret_id, ${column}, reads, writes) VALUES (?, ?, ?, ?)
       ON CONFLICT (secret_id, ${column}) DO UPDATE SET reads = excluded.reads, writes = excluded.writes`,
      secretId,
      name,
      ...permissionColumns(permission),
    );
    if (grantee.kind === "team") await undoDismissals(secretId, name);
  };
  const revoke = (secretId: string, grantee: Grantee): Promise<number> =>
    grantee.kind === "person"
      ? db.run("DELETE FROM person_grants WHERE secret_id = ? AND email = ?", secretId, grantee.email)
      : db.run("DELETE FROM team_grants WHERE secret_id = ? AND group_id = ?", secretId, grantee.groupId);
  return {
    async grant(secretId, grantees, permission) {
      for (const grantee of grantees) await grant(secretId, grantee, permission);
    },
    async revoke(secretId, grantees) {
      let revoked = 0;
      for (const grantee of grantees) revoked += await revoke(secretId, grantee);
      return revoked;
    },
    async grantees(secretId) {
      const users = await db.all("SELECT email, reads, writes FROM person_grants WHERE secret_id = ? ORDER BY email", secretId);
      const teams = await db.all(
        "SELECT group_id, reads, writes FROM team_grants WHERE secret_id = ? ORDER BY group_id",
        secretId,
      );
      return [
        ...users.map((row): Grant => ({ kind: "person", email: row.text("email"), permission: permissionOf(row) })),
        ...teams.map((row): Grant => ({ kind: "team", groupId: row.text("group_id"), permission: permissionOf(row) })),
      ];
    },
    async dismissShare(secretId, email) {
      await db.run("DELETE FROM person_grants WHERE secret_id = ? AND email = ?", secretId, email);
      await db.run(
        `INSERT INTO hidden_team_grants (secret_id, group_id, email)
           SELECT g.secret_id, g.group_id, m.email FROM team_grants AS g JOIN team_members AS m ON m.group_id = g.group_id
           WHERE g.secret_id = ? AND m.email = ?
         ON CONFLICT DO NOTHING`,
        secretId,
        email,
      );
    },
  };
}
