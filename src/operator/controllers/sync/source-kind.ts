import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import type { Candidate } from "../../sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { Connection, Snapshot, SnapshotChange } from "../../vault-client/connection.ts";

export interface FetchedBytes {
  readonly bytes: Redacted<Uint8Array>;
  /** The version the vault says these bytes are. */
  readonly version: number;
}

/** A resource as the operator understands it, or why it can't. */
export type Parsed =
  | { readonly ok: true; readonly resource: SyncResource }
  | { readonly ok: false; readonly resource: SyncResource; readonly readyCondition: ReadyCondition };

/** What a VaultSecret and a VaultFile have each in their own way; everything else about them is shared. */
export interface SourceKind<C extends Candidate> {
  readonly descriptor: ResourceDescriptor;
  /** Reads a resource and checks it again, as the installed CRD may be older than the operator. Total. */
  parse(object: KubeObject): Parsed;
  /** Whether the snapshot says anything about this kind of source. */
  covers(snapshot: Snapshot): boolean;
  /** The names of this kind that changed. */
  changed(change: SnapshotChange): ReadonlySet<string>;
  /** What the list has under the item's name. */
  candidates(snapshot: Snapshot, item: SyncItem, account: string): readonly C[];
  /** @throws a VaultError */
  fetch(connection: Connection, candidate: C, version: number, signal: AbortSignal): Promise<FetchedBytes>;
}
