import type { SqlConnection } from "./sql-connection.ts";
import { sqlConsumers } from "./sql-consumers.ts";
import { sqlFiles } from "./sql-files.ts";
import { withListRevisions } from "../list-revision-decorator.ts";
import { sqlGrants } from "./sql-grants.ts";
import {
  sqlIdentities,
  sqlBlockedSenders,
  sqlAdminActions,
  sqlUsage,
} from "./sql-account-tables.ts";
import { sqlHandOver } from "./sql-hand-over.ts";
import { sqlListRevisions } from "./sql-list-revisions.ts";
import { sqlOutbox } from "./sql-outbox.ts";
import { sqlLoginFailures, sqlSettings, sqlUsers } from "./sql-users.ts";
import { sqlSecrets } from "./sql-secrets.ts";
import { sqlEmailProofs, sqlSessions } from "./sql-sessions.ts";
import { sqlTables } from "./sql-tables.ts";
import { sqlTeams } from "./sql-teams.ts";
import { sqlTrash } from "./sql-trash.ts";
import { sqlTokens } from "./sql-tokens.ts";
import { sqlRights } from "./sql-rights.ts";
import { sqlWrappedKeys } from "./sql-wrapped-keys.ts";
import { rowSeals, type RowMacs } from "../row-macs.ts";
import type { Transaction } from "../store.ts";

/**
 * Returns all tables on one connection.
 * @param changed called with the subject of each change that others may wait for
 * (`store/change-feed.ts`); it has not been committed yet
 * @param touched ids of the secrets whose lists have got a new revision; empty at the start of each
 * transaction
 * @param macs seals and checks the rows that decide who reads what; without it they are neither
 * sealed nor checked
 */
export function sqlTransaction(
  connection: SqlConnection,
  changed: (subject: string) => void,
  touched: Set<string> = new Set(),
  macs?: RowMacs,
): Transaction {
  const settings = sqlSettings(connection);
  const seals = rowSeals(macs, settings);
  const tables: Transaction = {
    users: sqlUsers(connection, seals),
    tokens: sqlTokens(connection, seals, changed),
    sessions: sqlSessions(connection, seals, changed),
    emailProofs: sqlEmailProofs(connection, seals),
    loginFailures: sqlLoginFailures(connection),
    blockedSenders: sqlBlockedSenders(connection),
    adminActions: sqlAdminActions(connection),
    identities: sqlIdentities(connection, seals),
    secrets: sqlSecrets(connection),
    grants: sqlGrants(connection, seals),
    teams: sqlTeams(connection, seals),
    listRevisions: sqlListRevisions(connection, changed),
    files: sqlFiles(connection),
    consumers: sqlConsumers(connection),
    trash: sqlTrash(connection),
    handOver: sqlHandOver(connection),
    outbox: sqlOutbox(connection),
    usage: sqlUsage(connection),
    wrappedKeys: sqlWrappedKeys(connection),
    tables: sqlTables(connection),
    rights: sqlRights(connection),
    settings,
  };
  return withListRevisions(tables, touched);
}
