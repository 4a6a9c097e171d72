import { connectionKey } from "../../api/connection-key.ts";
import { notReady } from "../../sync/ready-condition.ts";
import { reportOf } from "../../sync/report.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import type { ClusterAccess } from "../connection/cluster-access.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { checkAccess } from "../../sync/namespace-access.ts";
import { DONE, waitFor } from "../outcome/outcome.ts";
import { awaitConnection, type SyncResult } from "./sync-result.ts";

export interface ConnectionSources {
  readonly connections: Pick<ConnectionRegistry, "get">;
  readonly access: Pick<ClusterAccess, "of" | "isCurrent" | "isAvailable">;
}

const waiting = (what: "connection" | "namespace"): SyncResult => ({
  report: undefined,
  next: waitFor(what),
});

/**
 * Returns the connection that a resource may use now, or the result of a reconcile that ends here
 * because there is none.
 */
export function findConnection(
  { connections, access }: ConnectionSources,
  entries: EntryKind,
  resource: SyncResource,
  before: SyncStatus,
): OpenConnection | SyncResult {
  const { connection, namespace } = resource;
  const key = connectionKey(connection, namespace);
  const found = connections.get(key);
  if (found.state === "absent") {
    const readyCondition = notReady(
      "ConnectionNotFound",
      explainAbsence(resource, access.isAvailable),
    );
    return { report: reportOf(readyCondition), next: waitFor("connection") };
  }
  const verdict = checkAccess(resource, entries, access.of(key, namespace));
  if (typeof verdict === "object") return { report: reportOf(verdict), next: DONE };
  if (found.state === "opening") return waiting("connection");
  if (found.state === "invalid")
    return awaitConnection(resource, before, found.message, { stale: found.stale });
  if (verdict === "unknown") return waiting("namespace");
  return access.isCurrent(key, found.fingerprint) ? found : waiting("connection");
}

function explainAbsence(
  { connection: { kind, name }, namespace }: SyncResource,
  isAvailable: boolean,
): string {
  if (kind === "VaultConnection")
    return `VaultConnection ${name} not found in namespace ${namespace}: create it, or correct spec.connectionRef.name`;
  return isAvailable
    ? `ClusterVaultConnection ${name} not found: create it, or correct spec.connectionRef`
    : `ClusterVaultConnection ${name} cannot be used: this operator serves some namespaces only (--namespaces). Refer to a VaultConnection`;
}
