/**
 * The migration step that counts the shares of each account by triggers, as its secrets are
 * counted. It is never edited.
 */
export const sqliteGrantCounts = `
  ALTER TABLE account_usage ADD COLUMN grants INTEGER NOT NULL DEFAULT 0;
  UPDATE account_usage SET grants =
    (SELECT count(*) FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id WHERE s.owner = email)
    + (SELECT count(*) FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id WHERE s.owner = email);
  ${["person_grants", "team_grants"]
    .map(
      (table) => `
  CREATE TRIGGER count_${table} AFTER INSERT ON ${table} BEGIN
    UPDATE account_usage SET grants = grants + 1 WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
  END;
  CREATE TRIGGER uncount_${table} AFTER DELETE ON ${table} BEGIN
    UPDATE account_usage SET grants = grants - 1 WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
  END;
  CREATE TRIGGER uncount_${table}_of_secret BEFORE DELETE ON secrets BEGIN
    UPDATE account_usage SET grants = grants - (SELECT count(*) FROM ${table} WHERE secret_id = OLD.id) WHERE email = OLD.owner;
  END;`,
    )
    .join("")}
  `;
