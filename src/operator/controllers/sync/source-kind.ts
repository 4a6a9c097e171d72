import type { Trust } from "../../api/received-secrets.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import type { FoundName } from "../../sync/find-items.ts";
import type { ParsedResource } from "../../sync/parse-resource.ts";
import type { Candidate } from "../../sync/resolution.ts";
import type { Find, SyncItem } from "../../sync/sync-resource.ts";
import type { Consumer, EntryKind, Snapshot } from "../../vault-client/connection.ts";
import type { OpenConnection } from "../connection/connection-state.ts";

/** Entries of one owner, of creators whom a connection trusts, with the metadata of a rule. */
export interface EntryFilter {
  readonly owner?: string | undefined;
  readonly trust?: Trust;
  readonly find?: Find | undefined;
}

/** The differences between VaultSecrets and VaultFiles; everything else is shared. */
export interface SourceKind {
  readonly descriptor: ResourceDescriptor;
  /** Kind of the vault's entries. */
  readonly entries: EntryKind;
  /**
   * Parses and validates a resource, because the installed CRD may be older than the operator.
   * Total.
   */
  parse(object: KubeObject): ParsedResource;
  /** Reports whether the snapshot says if the source of this item exists. */
  covers(snapshot: Snapshot, item: SyncItem): boolean;
  /**
   * Returns the listed names that a rule of a resource finds: own entries, and entries of creators
   * whom the connection trusts.
   */
  names(snapshot: Snapshot, find: Find, access: OpenConnection): readonly FoundName[];
  /** Reports whether the list has an entry of this name, and of this kind. */
  isListed(snapshot: Snapshot, name: string, of?: EntryFilter): boolean;
  /**
   * Returns the listed entries that have the name of the item, each with the way to read it for a
   * resource.
   */
  candidates(
    snapshot: Snapshot,
    item: SyncItem,
    access: OpenConnection,
    consumer: Consumer,
  ): readonly Candidate[];
}

/** One kind of resources, and their watch. */
export interface SyncedKind {
  readonly source: SourceKind;
  readonly resources: ReadonlyStore<KubeObject>;
  /** Takes the statuses; `undefined`: the API server. */
  readonly statuses?: Pick<KubeApi, "replaceStatus">;
  /**
   * Returns what the resource of a key would be in a namespace that it does not select any more;
   * only in a kind that selects namespaces.
   */
  readonly unselected?: (key: string) => KubeObject | undefined;
}
