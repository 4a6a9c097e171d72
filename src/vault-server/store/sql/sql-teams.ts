import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Team } from "../records.ts";
import type { TeamTable } from "../tables/sharing-tables.ts";

const LIST = `
  SELECT t.group_id, t.creator, m.email
  FROM team_members AS own JOIN teams AS t ON t.group_id = own.group_id JOIN team_members AS m ON m.group_id = t.group_id
  WHERE own.email = ?1 AND t.group_id >= ?2 AND (t.group_id > ?2 OR m.email > ?3)
    AND NOT EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = ?1 AND b.sender = t.creator) ORDER BY t.group_id, m.email LIMIT ?4`;

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
    async countOf(creator) {
      const row = await db.get("SELECT count(*) AS count FROM teams WHERE creator = ?", creator);
      return row?.number("count") ?? 0;
    },
    async removeMembers(groupId, emails) {
      for (const email of emails) await db.run("DELETE FROM team_members WHERE group_id = ? AND email = ?", groupId, email);
    },
    async list(email, after, atMost) {
      const rows = await db.all(LIST, email, after?.groupId ?? "", after?.member ?? "", atMost);
      return rows.map((row) => ({ groupId: row.text("group_id"), creator: row.text("creator"), member: row.text("email") }));
    },
    async remove(groupId) {
      await db.run("DELETE FROM teams WHERE group_id = ?", groupId);
    },
    async setCreator(groupId, email) {
      await db.run("UPDATE teams SET creator = ? WHERE group_id = ?", email, groupId);
      await addMembers(groupId, [email]);
    },
    async createdBy(email) {
      return (await db.all("SELECT group_id FROM teams WHERE creator = ?", email)).map((row) => row.text("group_id"));
    },
  };
}
