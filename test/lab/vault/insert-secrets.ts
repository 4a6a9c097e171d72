import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { defaultMetadata } from "./requests.ts";

const metadata = JSON.stringify(defaultMetadata);

/**
 * Inserts many secrets of one user into a SQLite data file, named `listed-000000` and so on. They
 * equal the secrets of `protect`, except that their values cannot be read.
 */
export function insertSecrets(location: string, owner: string, count: number, now: number): void {
  // A server may be using the file.
  using database = new DatabaseSync(location, { timeout: 30_000 });
  const counted =
    "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)";
  const id = "printf('%08x-%s', (i * 2654435761) & 4294967295, ?2)";
  database.exec("BEGIN IMMEDIATE");
  database
    .prepare(
      `INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at)
       ${counted} SELECT ${id}, ?2, printf('listed-%06d', i), 2, 525600000.0, ?3 FROM n`,
    )
    .run(count, owner, now + 525_600_000 * 60_000);
  database
    .prepare(
      `INSERT INTO secret_versions (secret_id, version, metadata, created_at, updated_at, key_id, wrapped_key, sealed)
       ${counted} SELECT ${id}, 1, ?3, ?4, ?4, 'none', zeroblob(60), zeroblob(60) FROM n`,
    )
    .run(count, owner, metadata, now);
  database.exec("COMMIT");
}

/**
 * Secrets of one transaction. A trigger counts each row in the owner's row of `account_usage`,
 * whose former versions are only removed after a commit: the time of one transaction is quadratic
 * in its rows.
 */
const POSTGRES_BATCH = 500;

/** Inserts the same secrets into a PostgreSQL database. */
export async function insertPostgresSecrets(
  location: string,
  owner: string,
  count: number,
  now: number,
): Promise<void> {
  const client = new Client({ connectionString: location });
  await client.connect();
  const id = "md5(i || $1) AS id";
  const deadline = now + 525_600_000 * 60_000;
  for (let first = 0; first < count; first += POSTGRES_BATCH) {
    const range = [first, Math.min(first + POSTGRES_BATCH, count) - 1];
    await client.query("BEGIN");
    await client.query(
      `INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at)
       SELECT ${id}, $1, 'listed-' || lpad(i::text, 6, '0'), 2, 525600000, $2 FROM generate_series($3::int, $4::int) AS n (i)`,
      [owner, deadline, ...range],
    );
    await client.query(
      `INSERT INTO secret_versions (secret_id, version, metadata, created_at, updated_at, key_id, wrapped_key, sealed)
       SELECT ${id}, 1, $2, $3, $3, 'none', '\\x00', '\\x00' FROM generate_series($4::int, $5::int) AS n (i)`,
      [owner, metadata, now, ...range],
    );
    await client.query("COMMIT");
  }
  await client.query("ANALYZE secrets, secret_versions");
  await client.end();
}
