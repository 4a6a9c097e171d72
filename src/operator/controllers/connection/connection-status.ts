import { type ConditionNow, mergeConditions } from "../../api/conditions.ts";
import { isStalled, type Reason } from "../../api/reasons.ts";
import type { ConnectionStatus } from "../../api/vault-connection.ts";
import { defined } from "../../../lib/defined.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import type { ConnectionState, OpenConnection } from "./connection-registry.ts";
import { CredentialsError } from "./read-password.ts";

function reasonOf(error: Error | undefined): Reason {
  if (error instanceof CredentialsError) return "AuthFailed";
  if (!isVaultError(error)) return "VaultUnreachable";
  switch (error.kind) {
    case "transient":
      return "VaultUnreachable";
    case "auth":
      return "AuthFailed";
    case "rate-limited":
      return "RateLimited";
    case "unexpected-response":
      return "UnexpectedResponse";
    case "refused":
      return "InvalidSpec";
    case "permanent":
      return error.code === "invalid_scope" ? "InvalidSpec" : "UnexpectedResponse";
  }
}

/** State of a connection that a status can report. */
type ReportedState =
  | Extract<ConnectionState, { readonly state: "invalid" }>
  | Pick<OpenConnection, "state" | "connection" | "staleSince">;

function conditionsOf(view: ReportedState): ConditionNow[] {
  if (view.state === "invalid") {
    const condition = { status: "False", reason: "InvalidSpec", message: view.message } as const;
    return [
      { type: "Ready", ...condition },
      { type: "Stalled", ...condition, status: "True" },
    ];
  }
  const { health } = view.connection;
  const conditions: ConditionNow[] = [];
  if (health.state === "healthy") {
    conditions.push({ type: "Ready", status: "True", reason: "Synced", message: "logged in; the vault's list is up to date" });
  } else if (health.state === "starting") {
    conditions.push({ type: "Ready", status: "Unknown", reason: "Progressing", message: "logging in for the first time" });
  } else {
    const reason = reasonOf(health.error);
    const message = health.error?.message ?? "the vault does not respond";
    conditions.push({ type: "Ready", status: "False", reason, message });
    if (isStalled(reason)) conditions.push({ type: "Stalled", status: "True", reason, message });
  }
  if (view.staleSince !== undefined) {
    const message = `no response from the vault since ${new Date(view.staleSince).toISOString()}; all targets are kept unchanged`;
    conditions.push({ type: "Stale", status: "True", reason: reasonOf(health.error), message });
  }
  return conditions;
}

/** Returns the status to write. It equals `before` if nothing changed. `now` is in milliseconds since the epoch. */
export function nextConnectionStatus(
  before: ConnectionStatus,
  view: ReportedState,
  { generation, users, now }: { readonly generation: number; readonly users: number; readonly now: number },
): object {
  const connection = view.state === "open" ? view.connection : undefined;
  const token = connection?.token;
  return defined({
    observedGeneration: generation,
    conditions: mergeConditions(before.conditions, conditionsOf(view), generation, new Date(now).toISOString()),
    token: token && {
      expiresAt: new Date(Math.min(token.expiresAt, Date.UTC(9999, 11, 31))).toISOString(),
      refreshedAt: new Date(token.refreshedAt).toISOString(),
      scope: token.scope,
    },
    secrets: connection?.snapshot?.secretCount ?? before.secrets,
    files: connection?.snapshot === undefined ? before.files : connection.snapshot.fileCount,
    users,
  });
}
