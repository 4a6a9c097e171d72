import type { Identity } from "../records.ts";
import type { MacFields, RowSeals } from "../row-macs.ts";
import type { IdentityTable } from "../tables/account-tables.ts";
import type { Row } from "./row.ts";
import type { SqlConnection } from "./sql-connection.ts";

const PUT = `
  INSERT INTO identities (issuer, subject, email, scope, created_at, mac) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (issuer, subject) DO UPDATE SET email = excluded.email, scope = excluded.scope, mac = excluded.mac`;

const identityOf = (row: Row): Identity => ({
  issuer: row.text("issuer"),
  subject: row.text("subject"),
  email: row.text("email"),
  scope: row.text("scope"),
});

/** The fields that the MAC of a row covers. */
const fieldsOf = ({ issuer, subject, email, scope }: Identity): MacFields => [
  issuer,
  subject,
  email,
  scope,
];

export function sqlIdentities(db: SqlConnection, seals: RowSeals): IdentityTable {
  return {
    async find(issuer, subject) {
      const row = await db.get(
        "SELECT * FROM identities WHERE issuer = ? AND subject = ?",
        issuer,
        subject,
      );
      if (!row) return undefined;
      const found = identityOf(row);
      const about = { issuer, subject, email: found.email };
      return seals.accepts("identities", fieldsOf(found), row.text("mac"), about)
        ? found
        : undefined;
    },
    async put(identity, now) {
      const [mac = ""] = await seals.sign("identities", [fieldsOf(identity)]);
      const { issuer, subject, email, scope } = identity;
      await db.run(PUT, issuer, subject, email, scope, now, mac);
    },
    async list() {
      return (await db.all("SELECT * FROM identities ORDER BY issuer, subject")).map(identityOf);
    },
    async remove(issuer, subject) {
      await db.run("DELETE FROM identities WHERE issuer = ? AND subject = ?", issuer, subject);
    },
  };
}
