import { migrationFrom, type Migration } from "../store.ts";
import type { ClientBase } from "pg";
import { postgresMigrations } from "./postgres-migrations.ts";
import { PostgresConnection } from "./postgres-connection.ts";

/**
 * Advisory lock of a migration: replicas that start together take turns. Any number unused in the
 * database.
 */
const MIGRATION_LOCK = 7_318_204_415;

/**
 * Migrates the database to the schema of this release. Returns `Store.migration`.
 * @throws Error when it was written by a newer release, or by an earlier one and may not be migrated,
 * or its encoding is not UTF-8
 */
export async function migratePostgres(
  client: ClientBase,
  migrates: boolean,
): Promise<Migration | undefined> {
  const connection = new PostgresConnection(client, () => undefined);
  const encoding = (await connection.get("SHOW server_encoding"))?.text("server_encoding");
  if (encoding !== "UTF8")
    throw new Error(
      `the database has encoding ${encoding}, expected UTF8: create it with ENCODING 'UTF8'`,
    );
  await connection.exec("BEGIN");
  try {
    await connection.exec(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await connection.exec("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)");
    const version = (await connection.get("SELECT version FROM schema_version"))?.number("version");
    if (version !== undefined && version > postgresMigrations.length) {
      throw new Error("the database was written by a newer release of vaultsync");
    }
    const migration = migrationFrom(version ?? 0, postgresMigrations.length, migrates);
    for (const step of postgresMigrations.slice(version ?? 0)) await connection.exec(step);
    if (version === undefined)
      await connection.run(
        "INSERT INTO schema_version (version) VALUES (?)",
        postgresMigrations.length,
      );
    else if (version < postgresMigrations.length) {
      await connection.run("UPDATE schema_version SET version = ?", postgresMigrations.length);
    }
    await connection.exec("COMMIT");
    return migration;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
