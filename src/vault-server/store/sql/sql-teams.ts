import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Team } from "../records.ts";
import type { TeamTable } from "../tables/sharing-tables.ts";

export function sqlTeams(db: SqlConnection): TeamTable {
  const teamOf = async (row: Row): Promise<Team> => {
    const groupId = row.text("group_id");
    const members = await db.all("SELECT email FROM team_members WHERE group_id = ? ORDER BY email", groupId);
    return { groupId, creator: row.text("creator"), members: members.map((member) => member.text("email")) };
  };
  const addMembers = async (groupId: string, emails: readonly string[]): Promise<void> => {
    for (const email of emails) {
      await db.run("INSERT INTO team_members (group_id, email) VALUES (?, ?) ON CONFLICT DO NOTHING", groupId, email);
    }
  };
  return {
    addMembers,
    async find(groupId) {
      const row = await db.get("SELECT * FROM teams WHERE group_id = ?", groupId);
      return row && teamOf(row);
    },
    async insert({ groupId, creator, members }) {
      const sql = "INSERT INTO teams (group_id, creator) VALUES (?, ?) ON CONFLICT DO NOTHING";
      if ((await db.run(sql, groupId, creator)) === 0) return false;
      await addMembers(groupId, members);
      return true;
    },
    async removeMembers(groupId, emails) {
      for (const email of emails) await db.run("DELETE FROM team_members WHERE group_id = ? AND email = ?", groupId, email);
    },
    async list(email) {
      const sql =
        "SELECT t.* FROM team_members AS m JOIN teams AS t ON t.group_id = m.group_id WHERE m.email = ? ORDER BY t.group_id";
      const teams: Team[] = [];
      for (const row of await db.all(sql, email)) teams.push(await teamOf(row));
      return teams;
    },
    async remove(groupId) {
      await db.run("DELETE FROM teams WHERE group_id = ?", groupId);
    },
  };
}
