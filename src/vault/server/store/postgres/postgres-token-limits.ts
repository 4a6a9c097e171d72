/**
 * The migration step for tokens with networks, comma-separated, and an end, 0 for none. It is never
 * edited.
 */
export const postgresTokenLimits = `
  ALTER TABLE refresh_tokens ADD COLUMN allowed_networks text COLLATE "C" NOT NULL DEFAULT '';
  ALTER TABLE refresh_tokens ADD COLUMN ends_at double precision NOT NULL DEFAULT 0;
  ALTER TABLE access_tokens ADD COLUMN allowed_networks text COLLATE "C" NOT NULL DEFAULT '';
  `;
