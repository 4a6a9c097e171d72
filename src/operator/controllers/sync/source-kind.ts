import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import type { Candidate } from "../../sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { Connection, Snapshot, SnapshotChange } from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-registry.ts";

/** The bytes of one version of a secret or file. */
export interface FetchedBytes {
  readonly bytes: Redacted<Uint8Array>;
  /** Version of the bytes according to the vault. */
  readonly version: number;
}

/** A parsed resource, or the reason why its spec is invalid. */
export type ParsedResource =
  | { readonly ok: true; readonly resource: SyncResource }
  | { readonly ok: false; readonly resource: SyncResource; readonly readyCondition: ReadyCondition };

/** The differences between VaultSecrets and VaultFiles; everything else is shared. */
export interface SourceKind<C extends Candidate> {
  readonly descriptor: ResourceDescriptor;
  /** Parses and validates a resource, because the installed CRD may be older than the operator. Total. */
  parse(object: KubeObject): ParsedResource;
  /** Reports whether the snapshot includes this kind of source. */
  covers(snapshot: Snapshot): boolean;
  /** Returns the changed names of this kind. */
  changed(change: SnapshotChange): ReadonlySet<string>;
  /** Returns the listed entries that have the name of the item. */
  candidates(snapshot: Snapshot, item: SyncItem, access: Pick<OpenConnection, "vault" | "account">): readonly C[];
  /** Reads the bytes of one version. @throws VaultError */
  fetch(connection: Connection, candidate: C, version: number, signal: AbortSignal): Promise<FetchedBytes>;
}
