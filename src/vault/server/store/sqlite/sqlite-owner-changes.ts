/**
 * The migration step that counts a secret or file for its new owner when it is handed over. It is
 * never edited.
 */
export const sqliteOwnerChanges = ["-", "+"]
  .map((sign) => {
    const [row, name] = sign === "-" ? ["OLD", "leave"] : ["NEW", "receive"];
    return `
  CREATE TRIGGER ${name}_secret AFTER UPDATE OF owner ON secrets WHEN NEW.owner <> OLD.owner BEGIN
    UPDATE account_usage SET (secrets, versions, bytes, grants) = (
      SELECT secrets ${sign} 1, versions ${sign} count(*),
        bytes ${sign} coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0),
        grants ${sign} ((SELECT count(*) FROM person_grants WHERE secret_id = NEW.id)
          + (SELECT count(*) FROM team_grants WHERE secret_id = NEW.id))
      FROM secret_versions AS v WHERE v.secret_id = NEW.id) WHERE email = ${row}.owner;
  END;
  CREATE TRIGGER ${name}_file AFTER UPDATE OF owner ON files WHEN NEW.owner <> OLD.owner BEGIN
    UPDATE account_usage SET (versions, bytes) = (
      SELECT versions ${sign} count(*), bytes ${sign} coalesce(sum(v.size), 0)
      FROM file_versions AS v WHERE v.file_id = NEW.id) WHERE email = ${row}.owner;
  END;`;
  })
  .join("");
