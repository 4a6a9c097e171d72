import type { ReconcilerParts } from "../outcome/parts.ts";
import { type Watched, replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ControllerObserver } from "../../runtime/controller.ts";
import type { WriteObserver } from "../outcome/outcome.ts";
import type { SourceKind } from "../sync/source-kind.ts";
import { SYNC_KINDS, type SyncKind } from "../../sync/sync-key.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import { FreshLists } from "../outcome/fresh-lists.ts";
import type { ItemPusherOptions } from "./push-attempt.ts";
import { PushController, type PushControllerOptions } from "./push-controller.ts";
import { PushReconciler } from "./push-reconciler.ts";
import { PushRemoval } from "./push-removal.ts";
import { type ClusterResources, PushRivals } from "./push-rivals.ts";

export interface PushesOptions
  extends
    Omit<PushControllerOptions, "reconciler" | "rivals" | "resources">,
    ItemPusherOptions,
    ReconcilerParts {
  readonly observer: ControllerObserver & WriteObserver;
  readonly connections: Pick<ConnectionRegistry, "get">;
  /** The VaultPushes of this shard, and the Secrets that the operator watches: its targets. */
  readonly pushes: Watched<KubeObject>;
  readonly targetSecrets: Pick<Watched<unknown>, "onChange">;
  /** The custom resources of all shards, and those that have targets. */
  readonly cluster: ClusterResources;
  readonly readers: Readonly<Record<SyncKind, Watched<KubeObject>>>;
  readonly sources: Readonly<Record<SyncKind, SourceKind>>;
}

/** The controller of the VaultPushes and its parts. */
export class Pushes {
  readonly controller: PushController;
  readonly #options: PushesOptions;

  constructor(options: PushesOptions) {
    this.#options = options;
    const { cluster, readers, sources, clock, pushes } = options;
    const rivals = new PushRivals(cluster, readers, sources);
    const lists = new FreshLists(clock, (key) => this.controller.listEnded(key));
    const parts = { ...options, rivals, lists, resources: pushes.store };
    const reconciler = new PushReconciler({ ...parts, removal: new PushRemoval(parts) });
    this.controller = new PushController({ ...parts, reconciler });
  }

  /**
   * Passes the current objects and all later changes to the controller, until the returned handle
   * is disposed.
   */
  subscribe(): Disposable {
    const { controller } = this;
    const { cluster, readers, pushes, targetSecrets } = this.#options;
    const stack = new DisposableStack();
    // First: the rivals of a VaultPush must be known before it is reconciled.
    stack.use(replayAndSubscribe(cluster.pushes, (change) => controller.rivalChanged(change)));
    for (const kind of SYNC_KINDS)
      stack.use(
        replayAndSubscribe(readers[kind], (change) => controller.readerChanged(kind, change)),
      );
    stack.use(replayAndSubscribe(pushes, (change) => controller.resourceChanged(change)));
    stack.use(targetSecrets.onChange(({ key }) => controller.secretChanged(key)));
    return stack;
  }
}
