import { repeated } from "./batches.ts";

/** Selects the addresses that the secret ?1 is granted to. */
export const RECIPIENTS = `
  SELECT email FROM person_grants WHERE secret_id = ?1
  UNION SELECT m.email FROM team_grants AS g JOIN team_members AS m ON m.group_id = g.group_id WHERE g.secret_id = ?1`;

/**
 * Returns the condition that a recipient has accepted `sender`. CROSS JOIN keeps SQLite from
 * starting with all secrets of the recipient.
 */
function acceptedSql(recipient: string): string {
  return `
  EXISTS (SELECT 1 FROM person_grants AS g CROSS JOIN secrets AS s WHERE g.email = sender AND s.id = g.secret_id AND s.owner = ${recipient})
  OR EXISTS (SELECT 1 FROM team_members AS m CROSS JOIN teams AS t WHERE m.email = sender AND t.group_id = m.group_id AND t.creator = ${recipient})
  OR EXISTS (SELECT 1 FROM team_members AS m CROSS JOIN team_grants AS g CROSS JOIN secrets AS s
    WHERE m.email = sender AND g.group_id = m.group_id AND s.id = g.secret_id AND s.owner = ${recipient})`;
}

/**
 * Selects a row if the user ?2 may learn whether the address ?1 is absent: the address has accepted
 * the user, the user shares with it directly, or both are members of a team that the user did not
 * create.
 */
export const IS_ACQUAINTED = `
  SELECT 1 AS one FROM (SELECT CAST(?2 AS text) AS sender) AS caller WHERE ${acceptedSql("?1")}
  OR EXISTS (SELECT 1 FROM person_grants AS g CROSS JOIN secrets AS s WHERE g.email = ?1 AND s.id = g.secret_id AND s.owner = ?2)
  OR EXISTS (SELECT 1 FROM team_members AS own CROSS JOIN team_members AS m CROSS JOIN teams AS t
    WHERE own.email = ?2 AND m.group_id = own.group_id AND m.email = ?1 AND t.group_id = m.group_id AND t.creator <> ?2)`;

/**
 * Returns the query that sums up what `count` addresses from ?2 have received, at the time ?1, by
 * senders whom they have not accepted.
 */
export function unacceptedSql(count: number): string {
  const isOne = (column: string): string =>
    `${column} IN (${repeated(count, (index) => `?${index + 2}`)})`;
  return `
  WITH received AS (
    SELECT email, secret_id FROM person_grants WHERE ${isOne("email")}
    UNION
    SELECT m.email, g.secret_id FROM team_members AS m JOIN team_grants AS g ON g.group_id = m.group_id
      WHERE ${isOne("m.email")} AND NOT EXISTS (
        SELECT 1 FROM hidden_team_grants AS h WHERE h.secret_id = g.secret_id AND h.group_id = g.group_id AND h.email = m.email)
  ), senders AS (
    SELECT r.email AS recipient, s.owner AS sender, count(*) AS secrets, sum(octet_length(v.metadata)) AS bytes
    FROM received AS r JOIN secrets AS s ON s.id = r.secret_id JOIN secret_versions AS v ON v.secret_id = s.id
    WHERE s.owner <> r.email AND +s.delete_at > ?1 AND v.version = (SELECT max(version) FROM secret_versions WHERE secret_id = s.id)
    GROUP BY r.email, s.owner
  )
  SELECT recipient, sender, CAST(secrets AS bigint) AS secrets, CAST(bytes AS bigint) AS bytes,
    EXISTS (SELECT 1 FROM blocked_senders AS b WHERE b.email = recipient AND b.sender = senders.sender) AS blocked
  FROM senders WHERE NOT (${acceptedSql("recipient")})`;
}
