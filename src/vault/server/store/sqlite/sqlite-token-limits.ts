/**
 * The migration step for tokens with networks, comma-separated, and an end, 0 for none. It is never
 * edited.
 */
export const sqliteTokenLimits = `
  ALTER TABLE refresh_tokens ADD COLUMN allowed_networks TEXT NOT NULL DEFAULT '';
  ALTER TABLE refresh_tokens ADD COLUMN ends_at REAL NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN allowed_networks TEXT NOT NULL DEFAULT '';
  `;
