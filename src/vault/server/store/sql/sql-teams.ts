import { createHash } from "node:crypto";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { Team } from "../records.ts";
import type { RowSeals } from "../row-macs.ts";
import type { TeamTable } from "../tables/sharing-tables.ts";
import unhomoglyph from "unhomoglyph";

/** Returns Unicode's skeleton (https://www.unicode.org/reports/tr39/#Confusable_Detection). */
const skeleton = (name: string): string => unhomoglyph(name.normalize("NFD")).normalize("NFD");

/**
 * Returns two looks of a team's name, of which names that look alike or differ in case have at
 * least one in common. One look is not enough: `I` looks like `l` and `M` does not look like `rn`,
 * so the case is removed after the skeleton in the first, and before it in the second.
 * Stored: a change of the result needs a migration step that empties the columns.
 */
export function teamLooks(name: string): readonly [look: string, lowerLook: string] {
  return [
    indexed(skeleton(name).toLowerCase()),
    indexed(skeleton(name.toLowerCase()).toLowerCase()),
  ];
}

/** Maximum size of a look in bytes: PostgreSQL rejects more than 2,704 in an index. */
const MAX_LOOK = 1_024;

/** Returns a look, or its digest: 256 Hangul syllables have a look of 5 KiB. */
const indexed = (look: string): string =>
  Buffer.byteLength(look) <= MAX_LOOK
    ? look
    : `sha256 ${createHash("sha256").update(look).digest("hex")}`;

const LIST = `
  SELECT t.group_id, t.creator, m.email
  FROM team_members AS own JOIN teams AS t ON t.group_id = own.group_id JOIN team_members AS m ON m.group_id = t.group_id
  WHERE own.email = ?1 AND t.group_id > ?2
    AND NOT EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = ?1 AND b.sender = t.creator) ORDER BY t.group_id, m.email LIMIT ?3`;

async function addLooks(db: SqlConnection, atMost: number): Promise<number> {
  const rows = await db.all("SELECT group_id FROM teams WHERE lower_look = '' LIMIT ?", atMost);
  const sql = "UPDATE teams SET look = ?, lower_look = ? WHERE group_id = ?";
  for (const name of rows.map((row) => row.text("group_id")))
    await db.run(sql, ...teamLooks(name), name);
  return rows.length;
}

/** Finds a team by what a server has written: its creator and a member. */
function finding(db: SqlConnection, seals: RowSeals): Pick<TeamTable, "find"> {
  const isMember = ({ groupId, id }: Team, member: Row): boolean => {
    const email = member.text("email");
    const about = { group_id: groupId, email };
    return seals.accepts("team_members", [groupId, id, email], member.text("mac"), about);
  };
  return {
    async find(groupId, member) {
      const row = await db.get("SELECT * FROM teams WHERE group_id = ?", groupId);
      if (!row) return undefined;
      const [id, creator] = [row.text("id"), row.text("creator")];
      if (!seals.accepts("teams", [groupId, id, creator], row.text("mac"), { group_id: groupId }))
        return undefined;
      const rows = await db.all(
        "SELECT email, mac FROM team_members WHERE group_id = ? ORDER BY email",
        groupId,
      );
      const team = { groupId, id, creator, members: rows.map((one) => one.text("email")) };
      if (member === undefined) return team;
      const own = rows.find((one) => one.text("email") === member);
      return own && isMember(team, own) ? team : undefined;
    },
  };
}

export function sqlTeams(db: SqlConnection, seals: RowSeals): TeamTable {
  const addMembers = async (
    { groupId, id }: Pick<Team, "groupId" | "id">,
    emails: readonly string[],
  ): Promise<void> => {
    const sql =
      "INSERT INTO team_members (group_id, email, mac) VALUES (?, ?, ?) ON CONFLICT (group_id, email) DO UPDATE SET mac = excluded.mac";
    const macs = await seals.sign(
      "team_members",
      emails.map((email) => [groupId, id, email]),
    );
    for (const [index, email] of emails.entries())
      await db.run(sql, groupId, email, macs[index] ?? "");
  };
  return {
    ...finding(db, seals),
    addMembers,
    async insert({ groupId, id, creator, members }) {
      const looks = teamLooks(groupId);
      const similar = "SELECT group_id FROM teams WHERE look = ? OR lower_look = ? LIMIT 1";
      if (await db.get(similar, ...looks)) return false;
      const sql =
        "INSERT INTO teams (group_id, id, creator, mac, look, lower_look) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
      const [mac = ""] = await seals.sign("teams", [[groupId, id, creator]]);
      if ((await db.run(sql, groupId, id, creator, mac, ...looks)) === 0) return false;
      await addMembers({ groupId, id }, members);
      return true;
    },
    addLooks: (atMost) => addLooks(db, atMost),
    async countOf(creator) {
      const row = await db.get("SELECT count(*) AS count FROM teams WHERE creator = ?", creator);
      return row?.number("count") ?? 0;
    },
    async removeMembers(groupId, emails) {
      for (const email of emails)
        await db.run("DELETE FROM team_members WHERE group_id = ? AND email = ?", groupId, email);
    },
    async list(email, after, atMost) {
      const rows = await db.all(LIST, email, after ?? "", atMost);
      return rows.map((row) => ({
        groupId: row.text("group_id"),
        creator: row.text("creator"),
        member: row.text("email"),
      }));
    },
    async remove(groupId) {
      await db.run("DELETE FROM teams WHERE group_id = ?", groupId);
    },
    async setCreator(team, email) {
      const [mac = ""] = await seals.sign("teams", [[team.groupId, team.id, email]]);
      await db.run(
        "UPDATE teams SET id = ?, creator = ?, mac = ? WHERE group_id = ?",
        team.id,
        email,
        mac,
        team.groupId,
      );
      await addMembers(team, [email]);
    },
    async createdBy(email) {
      return (await db.all("SELECT group_id FROM teams WHERE creator = ?", email)).map((row) =>
        row.text("group_id"),
      );
    },
  };
}
