import { RETIRED_MARK, TRASHED_AT } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import type { TrashEntry, TrashKind, TrashTable } from "../tables/trash-table.ts";

/** The table of each kind and the table with its versions. */
const tablesOf = {
  secret: { live: "secrets", versions: "secret_versions", key: "secret_id" },
  file: { live: "files", versions: "file_versions", key: "file_id" },
} as const;

/**
 * Returns the statement to run before ?1 is removed: entries of the trash with the same name note
 * its highest version number, because none may be restored with a lower one.
 */
export function noteVersionsSql(kind: TrashKind): string {
  const { live } = tablesOf[kind];
  const trashed = `trashed_${live}`;
  const used = `(SELECT next_version - 1 FROM ${live} WHERE id = ?1)`;
  return `UPDATE ${trashed} SET used_version = ${used} WHERE id <> ?1 AND used_version < ${used}
    AND owner = (SELECT owner FROM ${live} WHERE id = ?1)
    AND name = coalesce((SELECT name FROM ${trashed} WHERE id = ?1), (SELECT name FROM ${live} WHERE id = ?1))`;
}

const DEADLINE = { secret: ", delete_at", file: "" } as const;

/** Inserts an entry; ?2 and ?3 are its times. */
function insertSql(kind: TrashKind): string {
  const { live } = tablesOf[kind];
  const [end, deadline] =
    kind === "secret"
      ? ["CASE WHEN delete_at < ?3 THEN delete_at ELSE ?3 END", DEADLINE.secret]
      : ["?3", DEADLINE.file];
  return `INSERT INTO trashed_${live} (id, owner, name, trashed_at, ends_at, used_version${deadline})
    SELECT id, owner, name, ?2, ${end}, 0${deadline} FROM ${live} WHERE id = ?1`;
}

const HIDE = {
  secret: `UPDATE secrets SET name = name || CAST(?2 AS text) || id, delete_at = ${TRASHED_AT} WHERE id = ?1`,
  file: "UPDATE files SET name = name || CAST(?2 AS text) || id WHERE id = ?1",
} as const;

const SHOW = {
  secret:
    "UPDATE secrets SET name = ?2, delete_at = (SELECT delete_at FROM trashed_secrets WHERE id = ?1) WHERE id = ?1",
  file: "UPDATE files SET name = ?2 WHERE id = ?1",
} as const;

const COLUMNS = "t.id, t.owner, t.name, t.trashed_at, t.ends_at, t.used_version";

function listSql(kind: TrashKind, after: boolean): string {
  const { live, versions, key } = tablesOf[kind];
  const latest = (column: string): string =>
    `coalesce((SELECT ${column} FROM ${versions} WHERE ${key} = t.id ORDER BY version DESC LIMIT 1), 0)`;
  const position = after
    ? "AND (t.trashed_at < ?4 OR (t.trashed_at = ?4 AND t.id < CAST(?5 AS text)))"
    : "";
  return `SELECT ${COLUMNS}, ${latest("version")} AS version, ${kind === "file" ? latest("size") : "0"} AS size
    FROM trashed_${live} AS t WHERE t.owner = ?1 AND t.ends_at > ?2 ${position}
    ORDER BY t.trashed_at DESC, t.id DESC LIMIT ?3`;
}

/** Selects kind and id of the entries of both kinds that satisfy a condition, with a column. */
function bothSql(condition: string, column: string): string {
  return (["secret", "file"] as const)
    .map(
      (kind) =>
        `SELECT '${kind}' AS kind, id, ${column} AS at FROM trashed_${tablesOf[kind].live} WHERE ${condition}`,
    )
    .join(" UNION ALL ");
}

const BEYOND = `SELECT kind, id FROM (${bothSql("owner = ?1", "trashed_at")}) AS all_of ORDER BY at DESC, id DESC LIMIT ?3 OFFSET ?2`;
const ENDED = `SELECT kind, id FROM (${bothSql("ends_at <= ?1", "ends_at")}) AS all_ended ORDER BY at, id LIMIT ?2`;

function nextVersionSql(kind: TrashKind): string {
  const { live } = tablesOf[kind];
  return `SELECT coalesce(max(CASE WHEN s.next_version > t.used_version THEN s.next_version ELSE t.used_version + 1 END), 1) AS next
    FROM trashed_${live} AS t JOIN ${live} AS s ON s.id = t.id WHERE t.owner = ? AND t.name = ? AND t.id <> ?`;
}

function entryOf(kind: TrashKind, row: Row): TrashEntry {
  return {
    kind,
    id: row.text("id"),
    owner: row.text("owner"),
    name: row.text("name"),
    trashedAt: row.number("trashed_at"),
    endsAt: row.number("ends_at"),
    usedVersion: row.number("used_version"),
  };
}

function keyOf(row: Row): Pick<TrashEntry, "kind" | "id"> {
  return { kind: row.text("kind") === "file" ? "file" : "secret", id: row.text("id") };
}

export function sqlTrash(db: SqlConnection): TrashTable {
  const find = async (
    kind: TrashKind,
    owner: string,
    id: string,
    now: number,
  ): Promise<TrashEntry | undefined> => {
    const sql = `SELECT ${COLUMNS} FROM trashed_${tablesOf[kind].live} AS t WHERE t.id = ? AND t.owner = ? AND t.ends_at > ?`;
    const row = await db.get(sql, id, owner, now);
    return row && entryOf(kind, row);
  };
  return {
    async put(kind, id, trashedAt, endsAt) {
      await db.run(insertSql(kind), id, trashedAt, endsAt);
      await db.run(HIDE[kind], id, RETIRED_MARK);
    },
    async restore(kind, id, name) {
      await db.run(SHOW[kind], id, name);
      await db.run(`DELETE FROM trashed_${tablesOf[kind].live} WHERE id = ?`, id);
    },
    async find(owner, id, now) {
      return (await find("secret", owner, id, now)) ?? find("file", owner, id, now);
    },
    async list(kind, owner, after, now, atMost) {
      const position = after ? [after.trashedAt, after.id] : [];
      const rows = await db.all(
        listSql(kind, after !== undefined),
        owner,
        now,
        atMost,
        ...position,
      );
      return rows.map((row) => ({
        ...entryOf(kind, row),
        version: row.number("version"),
        size: row.number("size"),
      }));
    },
    async beyond(owner, keep, atMost) {
      return (await db.all(BEYOND, owner, keep, atMost)).map(keyOf);
    },
    async ended(now, atMost) {
      return (await db.all(ENDED, now, atMost)).map(keyOf);
    },
    async nextVersion(kind, owner, name, except = "") {
      const row = await db.get(nextVersionSql(kind), owner, name, except);
      return row?.number("next") ?? 1;
    },
  };
}
