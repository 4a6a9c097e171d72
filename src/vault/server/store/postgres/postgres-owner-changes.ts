/**
 * The migration step that counts a secret or file for its new owner when it is handed over. It is
 * never edited.
 */
export const postgresOwnerChanges = `
  CREATE FUNCTION recount_secret_owner() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE version_count bigint; byte_count bigint; grant_count bigint;
  BEGIN
    SELECT count(*), coalesce(sum(octet_length(sealed) + octet_length(metadata)), 0) INTO version_count, byte_count
      FROM secret_versions WHERE secret_id = NEW.id;
    SELECT (SELECT count(*) FROM person_grants WHERE secret_id = NEW.id) + (SELECT count(*) FROM team_grants WHERE secret_id = NEW.id)
      INTO grant_count;
    UPDATE account_usage SET secrets = secrets - 1, versions = versions - version_count, bytes = bytes - byte_count,
      grants = grants - grant_count WHERE email = OLD.owner;
    UPDATE account_usage SET secrets = secrets + 1, versions = versions + version_count, bytes = bytes + byte_count,
      grants = grants + grant_count WHERE email = NEW.owner;
    RETURN NULL;
  END $$;
  CREATE TRIGGER recount_secret_owner AFTER UPDATE OF owner ON secrets FOR EACH ROW
    WHEN (NEW.owner <> OLD.owner) EXECUTE FUNCTION recount_secret_owner();
  CREATE FUNCTION recount_file_owner() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE version_count bigint; byte_count bigint;
  BEGIN
    SELECT count(*), coalesce(sum(size), 0) INTO version_count, byte_count FROM file_versions WHERE file_id = NEW.id;
    UPDATE account_usage SET versions = versions - version_count, bytes = bytes - byte_count WHERE email = OLD.owner;
    UPDATE account_usage SET versions = versions + version_count, bytes = bytes + byte_count WHERE email = NEW.owner;
    RETURN NULL;
  END $$;
  CREATE TRIGGER recount_file_owner AFTER UPDATE OF owner ON files FOR EACH ROW
    WHEN (NEW.owner <> OLD.owner) EXECUTE FUNCTION recount_file_owner();
  `;
