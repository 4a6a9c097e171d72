import type { Usage, UsageTable } from "../tables/usage-table.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";

function usageOf(row: Row | undefined): Usage {
  if (!row) return { secrets: 0, versions: 0, bytes: 0, grants: 0 };
  return {
    secrets: row.number("secrets"),
    versions: row.number("versions"),
    bytes: row.number("bytes"),
    grants: row.number("grants"),
  };
}

const TOTAL = `
  SELECT CAST(coalesce(sum(secrets), 0) AS bigint) AS secrets, CAST(coalesce(sum(versions), 0) AS bigint) AS versions,
    CAST(coalesce(sum(bytes), 0) AS bigint) AS bytes, CAST(coalesce(sum(grants), 0) AS bigint) AS grants FROM account_usage`;

export function sqlUsage(db: SqlConnection): UsageTable {
  return {
    async of(email) {
      return usageOf(
        await db.get(
          "SELECT secrets, versions, bytes, grants FROM account_usage WHERE email = ?",
          email,
        ),
      );
    },
    async total() {
      return usageOf(await db.get(TOTAL));
    },
  };
}
