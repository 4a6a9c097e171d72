import type { MacFields, RowSeals } from "../row-macs.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";

/**
 * Returns the token, session or proof with a digest; `undefined` if there is none, or if no server
 * has written its row.
 * @param fields the fields that the MAC of the row covers
 */
export async function authenticRow<T extends { readonly email: string }>(
  db: SqlConnection,
  seals: RowSeals,
  table: "access_tokens" | "refresh_tokens" | "sessions" | "email_proofs",
  digest: string,
  parse: (row: Row) => T,
  fields: (found: T) => MacFields,
): Promise<T | undefined> {
  const row = await db.get(`SELECT * FROM ${table} WHERE digest = ?`, digest);
  if (!row) return undefined;
  const found = parse(row);
  const { email } = found;
  return seals.accepts(table, fields(found), row.text("mac"), { email }) ? found : undefined;
}
