/**
 * The migration step that counts the shares of each account by triggers, as its secrets are
 * counted. It is never edited.
 */
export const postgresGrantCounts = `
  ALTER TABLE account_usage ADD COLUMN grants bigint NOT NULL DEFAULT 0;
  UPDATE account_usage SET grants =
    (SELECT count(*) FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id WHERE s.owner = email)
    + (SELECT count(*) FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id WHERE s.owner = email);
  CREATE FUNCTION count_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants + 1 WHERE email = (SELECT owner FROM secrets WHERE id = NEW.secret_id);
    RETURN NULL;
  END $$;
  CREATE FUNCTION uncount_grant() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants - 1 WHERE email = (SELECT owner FROM secrets WHERE id = OLD.secret_id);
    RETURN NULL;
  END $$;
  CREATE FUNCTION uncount_grants_of_secret() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE account_usage SET grants = grants - (SELECT count(*) FROM person_grants WHERE secret_id = OLD.id)
      - (SELECT count(*) FROM team_grants WHERE secret_id = OLD.id) WHERE email = OLD.owner;
    RETURN OLD;
  END $$;
  CREATE TRIGGER count_grant AFTER INSERT ON person_grants FOR EACH ROW EXECUTE FUNCTION count_grant();
  CREATE TRIGGER count_grant AFTER INSERT ON team_grants FOR EACH ROW EXECUTE FUNCTION count_grant();
  CREATE TRIGGER uncount_grant AFTER DELETE ON person_grants FOR EACH ROW EXECUTE FUNCTION uncount_grant();
  CREATE TRIGGER uncount_grant AFTER DELETE ON team_grants FOR EACH ROW EXECUTE FUNCTION uncount_grant();
  CREATE TRIGGER uncount_grants_of_secret BEFORE DELETE ON secrets FOR EACH ROW EXECUTE FUNCTION uncount_grants_of_secret();
  `;
