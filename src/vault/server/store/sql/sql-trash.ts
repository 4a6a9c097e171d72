import { RETIRED_AT, RETIRED_MARK, TRASHED_AT } from "./retired-name.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";
import { usageOf } from "./sql-account-tables.ts";
import type { SizedEntry, TrashEntry, TrashKind, TrashTable } from "../tables/trash-table.ts";

/** The table of each kind and the table with its versions. */
const tablesOf = {
  secret: { live: "secrets", versions: "secret_versions", key: "secret_id" },
  file: { live: "files", versions: "file_versions", key: "file_id" },
} as const;

/** Bytes of a version, as the triggers of `account_usage` count them. */
const SIZES = { secret: "octet_length(sealed) + octet_length(metadata)", file: "size" } as const;
const DEADLINE = { secret: ", delete_at", file: "" } as const;

/** Inserts an entry; ?2 and ?3 are its times. */
function insertSql(kind: TrashKind): string {
  const { live, versions, key } = tablesOf[kind];
  const own = `FROM ${versions} WHERE ${key} = ?1`;
  const [end, deadline] =
    kind === "secret"
      ? ["CASE WHEN delete_at < ?3 THEN delete_at ELSE ?3 END", DEADLINE.secret]
      : ["?3", DEADLINE.file];
  return `INSERT INTO trashed_${live} (id, owner, name, trashed_at, ends_at, versions, bytes${deadline})
    SELECT id, owner, name, ?2, ${end}, (SELECT count(*) ${own}),
      CAST((SELECT coalesce(sum(${SIZES[kind]}), 0) ${own}) AS bigint)${deadline} FROM ${live} WHERE id = ?1`;
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

const COLUMNS = "t.id, t.owner, t.name, t.trashed_at, t.ends_at";

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

const GRANTS = ["person_grants", "team_grants"];
const grantsOf = (secret: string): string =>
  GRANTS.map((table) => `(SELECT count(*) FROM ${table} WHERE secret_id = ${secret})`).join(" + ");

/** Selects the entries of both kinds that satisfy a condition. */
function bothSql(condition: string): string {
  return (["secret", "file"] as const)
    .map(
      (kind) =>
        `SELECT '${kind}' AS kind, id, trashed_at, ends_at, versions, bytes FROM trashed_${tablesOf[kind].live} WHERE ${condition}`,
    )
    .join(" UNION ALL ");
}

/** Condition of the entries of an account: none of a retired file. */
const OWN = `owner = ?1 AND ends_at <> ${RETIRED_AT}`;
const SIZED = `SELECT kind, id, versions, bytes, ${grantsOf("e.id")} AS grants FROM`;
const OLDEST = `${SIZED} (${bothSql(OWN)}) AS e ORDER BY trashed_at, id LIMIT ?2`;
const LARGEST = `${SIZED} (${bothSql("bytes > 0")}) AS e ORDER BY bytes DESC, trashed_at, id LIMIT ?1`;
const ENDED = `SELECT kind, id, ends_at FROM (${bothSql("ends_at <= ?1")}) AS e ORDER BY ends_at, id LIMIT ?2`;

const USAGE = `SELECT coalesce(sum(CASE kind WHEN 'secret' THEN 1 END), 0) AS secrets,
    coalesce(sum(CASE kind WHEN 'file' THEN 1 END), 0) AS files,
    CAST(coalesce(sum(versions), 0) AS bigint) AS versions, CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes,
    ${GRANTS.map((table) => `(SELECT count(*) FROM ${table} AS g JOIN trashed_secrets AS t ON t.id = g.secret_id WHERE t.owner = ?1)`).join(" + ")} AS grants
  FROM (${bothSql(OWN)}) AS e`;

function entryOf(kind: TrashKind, row: Row): TrashEntry {
  return {
    kind,
    id: row.text("id"),
    owner: row.text("owner"),
    name: row.text("name"),
    trashedAt: row.number("trashed_at"),
    endsAt: row.number("ends_at"),
  };
}

function keyOf(row: Row): Pick<TrashEntry, "kind" | "id"> {
  return { kind: row.text("kind") === "file" ? "file" : "secret", id: row.text("id") };
}

function sizedOf(row: Row): SizedEntry {
  const { kind, id } = keyOf(row);
  const [versions, bytes, grants] = [
    row.number("versions"),
    row.number("bytes"),
    row.number("grants"),
  ];
  return { kind, id, secrets: kind === "secret" ? 1 : 0, versions, bytes, grants };
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
    async usage(owner) {
      const row = await db.get(USAGE, owner);
      return { ...usageOf(row), files: row?.number("files") ?? 0 };
    },
    async oldest(owner, atMost) {
      return (await db.all(OLDEST, owner, atMost)).map(sizedOf);
    },
    async largest(atMost) {
      return (await db.all(LARGEST, atMost)).map(sizedOf);
    },
    async ended(now, atMost) {
      return (await db.all(ENDED, now, atMost)).map((row) => ({
        ...keyOf(row),
        retired: row.number("ends_at") === RETIRED_AT,
      }));
    },
  };
}
