import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { Pool } from "pg";
import type { StoreKind } from "../test/lab/vault/store-location.ts";

export interface RawCommits extends AsyncDisposable {
  /** Inserts one row in its own transaction. */
  commit(): Promise<void>;
}

/**
 * Opens the baseline of durable writes: the same database and durability without a vault, rows of
 * the size of a small secret.
 */
export async function openRawCommits(kind: StoreKind, location: string): Promise<RawCommits> {
  const row = randomBytes(400);
  if (kind === "sqlite") {
    const database = new DatabaseSync(`${location}.raw`);
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE raw (id INTEGER PRIMARY KEY, bytes BLOB)",
    );
    const insert = database.prepare("INSERT INTO raw (bytes) VALUES (?)");
    return {
      commit: async () => void insert.run(row),
      [Symbol.asyncDispose]: async () => database.close(),
    };
  }
  const pool = new Pool({ connectionString: location, max: 10 });
  await pool.query("CREATE TABLE raw (id bigserial PRIMARY KEY, bytes bytea)");
  return {
    commit: async () =>
      void (await pool.query({
        name: "raw",
        text: "INSERT INTO raw (bytes) VALUES ($1)",
        values: [row],
      })),
    [Symbol.asyncDispose]: () => pool.end(),
  };
}
