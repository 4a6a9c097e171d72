import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import type { Content } from "../../sync/content.ts";
import type { Decision } from "../../sync/decide.ts";
import type { Freeze } from "../../sync/freeze.ts";
import type { FoundItems } from "../../sync/find-items.ts";
import type { NamespaceAccess } from "../../sync/namespace-access.ts";
import type { Report } from "../../sync/report.ts";
import type { Resolution } from "../../sync/resolution.ts";
import type { KeyState } from "../../sync/review-content.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { SyncStatus } from "../../sync/stored-status.ts";
import type { TargetState } from "../../sync/target.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import type { Deadlines, Memory } from "./resource-memory.ts";
import type { SourceKind } from "./source-kind.ts";

/** Input of a reconcile: the resource, and the facts that the reconcile before left. */
export interface Started {
  readonly key: string;
  readonly source: SourceKind;
  readonly resource: SyncResource;
  readonly before: SyncStatus;
  readonly memory: Memory;
  readonly signal: AbortSignal;
  /** Ends the reads of the vault, also when the access of the resource changes. */
  readonly reads: AbortSignal;
}

/** A reconcile that has a list of the vault. */
export interface Listed extends Started {
  /** The deadlines after the last reconcile in this process. */
  readonly deadlines: Deadlines | undefined;
  readonly access: OpenConnection;
  /** The names that the namespace of the resource may read. */
  readonly grant: NamespaceAccess;
  readonly snapshot: Snapshot;
  /** The freeze of the namespace. */
  readonly freeze: Freeze | undefined;
  readonly now: number;
}

/** Everything that is decided from. `resource` has the items that its rules find. */
export interface Observed extends Listed, Omit<FoundItems, "items"> {
  readonly state: TargetState;
  /** Returns the states of the former targets that are still there. */
  readonly formers: () => readonly TargetState[];
}

/** The known content of the existing target. */
export interface CurrentTarget {
  /** The object, if it had to be read. */
  readonly object: KubeObject | undefined;
  /** The bytes, if it had to be read. */
  readonly content: Content;
  readonly keys: ReadonlyMap<string, KeyState>;
  /** Content and annotations are those that the operator wrote. */
  readonly trusted: boolean;
}

/** A target that does not exist, or whose content the plan does not depend on. */
export const NO_TARGET: CurrentTarget = {
  object: undefined,
  content: new Map(),
  keys: new Map(),
  trusted: false,
};

/** A decision, and everything that it was made for. */
export interface Planned extends Observed {
  readonly resolutions: readonly Resolution[];
  readonly decision: Decision;
  /** The report of a plan that changes nothing. */
  readonly report: Report;
  readonly current: CurrentTarget;
}

/** A plan whose content is assembled. */
export interface Assembling extends Planned {
  /** The keys that the target had when its content was verified last. */
  readonly verified: ReadonlyMap<string, KeyState> | undefined;
  readonly contentKey: Redacted<Uint8Array>;
  /** Knows that the reconcile waits for the vault. */
  readonly limits: Pick<QueueLimits, "wait">;
}
