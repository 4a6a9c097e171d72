/**
 * The migration step that adds the MACs of rows, and the ids of teams, which two teams of one name
 * never share. It is never edited.
 */
export const rowMacColumns = `
  ALTER TABLE teams ADD COLUMN id text NOT NULL DEFAULT '';
  ${[
    "users",
    "refresh_tokens",
    "access_tokens",
    "sessions",
    "email_proofs",
    "teams",
    "team_members",
    "person_grants",
    "team_grants",
  ]
    .map((table) => `ALTER TABLE ${table} ADD COLUMN mac text NOT NULL DEFAULT '';`)
    .join("\n  ")}
  `;
