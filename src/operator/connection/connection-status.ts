import { type ConditionNow, findCondition, mergeConditions } from "../api/conditions.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../api/names.ts";
import type { Reason } from "../api/reasons.ts";
import type { Condition } from "../api/status.ts";
import type { ConnectionStatus } from "../api/vault-connection.ts";
import type { Connection, Health, LoginPause } from "../vault-client/connection.ts";
import { AuthError } from "../vault-client/vault-error.ts";
import { defined } from "../lib/defined.ts";
import { readyConditions } from "../sync/attempt-status.ts";
import { notReady } from "../sync/ready-condition.ts";
import { staleCondition, type Staleness } from "../sync/staleness.ts";
import { formatTimestamp } from "../sync/timestamp.ts";
import type { ConnectionFacts } from "./connection-facts.ts";
import { credentialsDueInMs } from "./credentials-wait.ts";
import { connectionProblem, explainFailure } from "./connection-problem.ts";

/**
 * Returns the conditions that stay unchanged. After a restart a connection keeps its condition
 * Ready until a list succeeds or fails: nothing new is known before.
 */
function staying(
  { conditions = [] }: ConnectionStatus,
  view: ReportedState,
  { problem, generation }: StatusFacts,
): Condition[] {
  if (view.state !== "open" || view.connection.health.state !== "starting" || problem !== undefined)
    return [];
  const ready = findCondition(conditions, "Ready");
  if (
    ready?.observedGeneration !== generation ||
    ["InvalidSpec", "InvalidCaBundle"].includes(ready.reason)
  )
    return [];
  return conditions.filter(({ type }) => type === "Ready" || type === "Stalled");
}

/**
 * Returns the hold that an earlier client published, until the lists say whether it continues:
 * nothing is removed before.
 */
function stillHeld({ conditions = [] }: ConnectionStatus, view: ReportedState): Condition[] {
  if (view.state === "open" && !view.removals.isResuming) return [];
  return conditions.filter(({ type }) => type === "RemovalsHeld");
}

/** Maximum length of the scope in a status; a scope may have hundreds of names. */
const MAX_SCOPE = 1_024;

/** State of a connection that a status can report. */
type ReportedState =
  | {
      readonly state: "invalid";
      readonly message: string;
      readonly stale?: Staleness | undefined;
    }
  | {
      readonly state: "open";
      readonly connection: Pick<Connection, "health" | "loginPause" | "snapshot" | "token">;
      readonly facts: ConnectionFacts;
      readonly stale: Staleness | undefined;
      /** `held`: the number of removals that a user has to confirm. */
      readonly removals: { readonly held: number; readonly isResuming: boolean };
    };

const invalid = (reason: "InvalidSpec" | "InvalidCaBundle", message: string): ConditionNow[] =>
  readyConditions(notReady(reason, message));

function conditionsOf(
  view: ReportedState,
  problem: string | undefined,
  isOverdue: boolean,
): ConditionNow[] {
  const stale =
    view.stale === undefined ? [] : [staleCondition(view.stale, "all targets are kept unchanged")];
  if (view.state === "invalid") {
    const reason = problem === undefined ? "InvalidSpec" : "InvalidCaBundle";
    return [...invalid(reason, view.message), ...stale];
  }
  const { health, loginPause } = view.connection;
  const conditions: ConditionNow[] = [
    ...(problem === undefined
      ? healthConditions(health, loginPause, view.facts, isOverdue)
      : invalid("InvalidCaBundle", problem)),
    ...stale,
  ];
  const { held } = view.removals;
  if (held > 0) {
    const message =
      `${held} referenced names disappeared, and too many names or targets of this vault with them; every removal of keys and targets is held. ` +
      `Check the vault, the account and the scope. If the names are gone intentionally, set the annotation ${CONFIRM_REMOVALS_ANNOTATION}=${held}`;
    conditions.push({ type: "RemovalsHeld", status: "True", reason: "RemovalsHeld", message });
  }
  return conditions;
}

/** Longest time between two attempts after a failure of the vault; see ListFollower. */
const RETRIED = "The operator tries again, at least every 5 minutes";

/** Reasons whose messages say what ends them. */
const SPOKEN_FOR: ReadonlySet<Reason> = new Set([
  "InvalidSpec",
  "AuthFailed",
  "CredentialsMissing",
]);

/** Reports whether a changed password would wait too. */
const isUnsent = (error: Error | undefined): boolean =>
  error instanceof AuthError && error.code === "too_many_rejected";

/**
 * Returns when the next attempt is, in words that are the same for each attempt: a status is not
 * written for each.
 */
function nextAttempt(
  reason: Reason,
  error: Error | undefined,
  pause: LoginPause | undefined,
): string {
  if (reason === "AuthFailed" && pause !== undefined) {
    const next = `. The next login is at ${new Date(pause.until).toISOString()}`;
    if (isUnsent(error)) return next;
    const what = error instanceof AuthError && error.code === "identity" ? "spec" : "the Secret";
    return `${next}, or immediately after a change of ${what}`;
  }
  if (SPOKEN_FOR.has(reason)) return "";
  return reason === "RateLimited"
    ? ". The next attempt is when the vault allows it"
    : `. ${RETRIED}`;
}

function healthConditions(
  health: Health,
  pause: LoginPause | undefined,
  facts: ConnectionFacts,
  isOverdue: boolean,
): ConditionNow[] {
  if (health.state === "healthy")
    return readyConditions({
      ready: true,
      reason: "Synced",
      message: "logged in; the vault's list is up to date",
    });
  if (health.state === "starting")
    return [
      {
        type: "Ready",
        status: "Unknown",
        reason: "Progressing",
        message: "logging in for the first time",
      },
    ];
  const { reason } = connectionProblem(health.error, facts);
  return readyConditions(
    notReady(
      reason,
      explainFailure(health.error, facts) + nextAttempt(reason, health.error, pause),
    ),
    undefined,
    isOverdue,
  );
}

/** Returns the scope, without the names that are too many for a status. */
function shortScope(scope: string): string {
  if (scope.length <= MAX_SCOPE) return scope;
  return `${scope.slice(0, scope.lastIndexOf(",", MAX_SCOPE))},…`;
}

function tokenStatus({ expiresAt, refreshedAt, scope }: NonNullable<Connection["token"]>): object {
  return defined({
    expiresAt: new Date(Math.min(expiresAt, Date.UTC(9999, 11, 31))).toISOString(),
    refreshedAt: new Date(refreshedAt).toISOString(),
    scope: scope && shortScope(scope.text),
  });
}

export interface StatusFacts {
  /**
   * Reason why the certificates of spec.caBundleRef cannot be used; a connection may be open
   * nevertheless.
   */
  readonly problem: string | undefined;
  readonly generation: number;
  readonly users: number;
  /** Time in milliseconds for which this process has had the connection open with this spec. */
  readonly openMs: number;
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Returns the staleness of what the connection ever listed: without any list there is no target
 * that may be outdated.
 */
function staleView(view: ReportedState, { secrets }: ConnectionStatus): ReportedState {
  const isListed = view.state === "open" && view.connection.snapshot !== undefined;
  if (isListed || secrets !== undefined) return view;
  return { ...view, stale: undefined };
}

/** Returns the status to write. It equals `before` if nothing changed. */
export function nextConnectionStatus(
  before: ConnectionStatus,
  current: ReportedState,
  facts: StatusFacts,
): object {
  const view = staleView(current, before);
  const { problem, generation, users, openMs, now } = facts;
  const isOverdue =
    view.state === "open" &&
    credentialsDueInMs(before, { connection: view.connection, generation, openMs }) === 0;
  const kept = staying(before, view, facts);
  const conditions = conditionsOf(view, problem, isOverdue).filter(
    ({ type }) => !kept.some((one) => one.type === type),
  );
  const held = conditions.some(({ type }) => type === "RemovalsHeld")
    ? []
    : stillHeld(before, view);
  return defined({
    observedGeneration: generation,
    conditions: [
      ...kept,
      ...mergeConditions(before.conditions, conditions, generation, new Date(now).toISOString()),
      ...held,
    ],
    ...clientStatus(kept.length > 0 ? before : { ...before, token: undefined }, view),
    users,
    staleSince: formatTimestamp(view.stale?.since),
  });
}

/** Returns what the client of an open connection knows; without one, what the status showed. */
function clientStatus({ token, secrets, files }: ConnectionStatus, view: ReportedState): object {
  if (view.state !== "open") return { token, secrets, files };
  const { connection } = view;
  const { snapshot, loginPause: pause } = connection;
  return {
    token: connection.token === undefined ? token : tokenStatus(connection.token),
    loginPausedUntil: formatTimestamp(pause?.until),
    rejectedCredentials: pause?.credentials,
    secrets: snapshot?.secretCount ?? secrets,
    files: snapshot === undefined ? files : snapshot.fileCount,
  };
}
