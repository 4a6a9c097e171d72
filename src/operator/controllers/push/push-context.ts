import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { Snapshot, WriteGuard } from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-registry.ts";
import type { Failure } from "../sync/sync-result.ts";
import type { PushBudget } from "./push-budget.ts";
import type { KeyFacts } from "./push-content.ts";
import type { PushMemory } from "./push-memory.ts";
import type { PushItem, PushResource } from "./push-resource.ts";
import type { PushSource } from "./push-source.ts";

export interface ItemPusherOptions {
  readonly contentKey: Redacted<Uint8Array>;
  /** Closed while another process may lead. */
  readonly guard: WriteGuard | undefined;
  /** Shared by all shards of the process. */
  readonly pushBudget: PushBudget;
  readonly clock: Clock;
}

/** Everything that the push of one key needs. */
export interface PushContext {
  readonly object: KubeObject;
  readonly resource: PushResource;
  readonly memory: PushMemory;
  readonly access: OpenConnection;
  readonly snapshot: Snapshot;
  readonly source: PushSource;
  readonly facts: ReadonlyMap<string, KeyFacts>;
  /** Compares the bytes of the vault even if its list shows the version that was pushed last. */
  readonly verify: boolean;
  readonly signal: AbortSignal;
}

/** The result for one key. Without a problem and a failure, the vault has its bytes. */
export interface PushOutcome {
  readonly item: PushItem;
  readonly problem?: ReadyCondition;
  readonly failure?: Failure;
  /** Further keys would fail as well. */
  readonly ends?: boolean;
  /** Time in milliseconds until the key can be pushed. */
  readonly waitMs?: number;
  readonly effect?: { readonly restored: boolean; readonly version: number };
  /** Remark for the Ready condition. */
  readonly remark?: string | undefined;
}
