import { syncedKinds } from "../../api/kinds.ts";
import { type Watched, replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import { defined } from "../../lib/defined.ts";
import { entriesOf, forEachKind, SYNC_KINDS } from "../../sync/sync-key.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { FannedOut } from "../fan-out/fanned-out.ts";
import type { ResourcesByKind } from "../fan-out/resources-by-kind.ts";
import { FreshLists } from "../outcome/fresh-lists.ts";
import { fileSource } from "./file-source.ts";
import { Propagations } from "./propagations.ts";
import { secretSource } from "./secret-source.ts";
import { SyncController, type SyncControllerOptions } from "./sync-controller.ts";
import { SyncReconciler, type SyncReconcilerOptions } from "./sync-reconciler.ts";
import { TargetRecords } from "./target-records.ts";
import { TargetWriter, type TargetWriterOptions } from "./target-writer.ts";

/** The objects of the API server that syncs follow, in addition to the resources. */
export interface SyncedObjects {
  readonly targetSecrets: Watched<TargetMetadata>;
  readonly targetConfigMaps: Watched<TargetMetadata>;
  /** `undefined` if Secrets are not watched. */
  readonly mergedSecrets?: Watched<TargetMetadata> | undefined;
  readonly mergedConfigMaps: Watched<TargetMetadata>;
}

type Part = "kinds" | "targets" | "writer" | "lists" | "propagations" | "reconciler";

export interface SyncsOptions
  extends
    Omit<SyncControllerOptions, Part | "access" | "connections" | "observer">,
    Omit<SyncReconcilerOptions, Part | "connections" | "observer">,
    Pick<TargetWriterOptions, "contentKey"> {
  readonly connections: SyncControllerOptions["connections"] & SyncReconcilerOptions["connections"];
  readonly reflectors: SyncedObjects;
  readonly resources: ResourcesByKind;
  /** Types of target Secrets in addition to the default ones. */
  readonly allowedSecretTypes: readonly string[];
  readonly observer: SyncControllerOptions["observer"] &
    SyncReconcilerOptions["observer"] & {
      /**
       * Called when a target was written because of a change in the vault, with the time since the
       * list that showed the change.
       */
      changePropagated(durationMs: number): void;
    };
}

/** Returns the kinds of resources that have targets, with their watches. */
function kindsOf(
  resources: ResourcesByKind,
  secretTypes: readonly string[],
): SyncReconcilerOptions["kinds"] {
  const sources = { secret: secretSource(secretTypes), file: fileSource };
  return forEachKind((kind) => {
    const watched = resources[kind];
    const source = { ...sources[entriesOf(kind)], descriptor: syncedKinds[kind] };
    if (!(watched instanceof FannedOut)) return { source, resources: watched.store };
    return {
      source,
      resources: watched.store,
      statuses: watched,
      unselected: watched.unselected.bind(watched),
    };
  });
}

/** The controller of the resources that have targets, and its parts. */
export class Syncs {
  readonly controller: SyncController;
  /** The kinds of resources, with their watches. */
  readonly kinds: SyncReconcilerOptions["kinds"];
  readonly #objects: SyncedObjects;
  readonly #resources: ResourcesByKind;

  constructor(options: SyncsOptions) {
    const { reflectors, resources, clock, observer } = options;
    this.#objects = reflectors;
    this.#resources = resources;
    this.kinds = kindsOf(resources, options.allowedSecretTypes);
    const targets = new TargetRecords({
      watched: { Secret: reflectors.targetSecrets, ConfigMap: reflectors.targetConfigMaps },
      merged: {
        ...defined({ Secret: reflectors.mergedSecrets }),
        ConfigMap: reflectors.mergedConfigMaps,
      },
      clock,
      requeue: (key, priority) => this.controller.requeueTarget(key, priority),
    });
    const writer = new TargetWriter({ ...options, targets });
    const propagations = new Propagations(clock, (ms) => observer.changePropagated(ms));
    const lists = new FreshLists(clock, (key) => this.controller.listEnded(key));
    const parts = { ...options, kinds: this.kinds, targets, writer, lists, propagations };
    this.controller = new SyncController({ ...parts, reconciler: new SyncReconciler(parts) });
  }

  /**
   * Passes the current objects and all later changes to the controller, until the returned handle
   * is disposed.
   */
  subscribe(): Disposable {
    const { controller } = this;
    const { targetSecrets, targetConfigMaps, mergedSecrets, mergedConfigMaps } = this.#objects;
    const stack = new DisposableStack();
    for (const kind of SYNC_KINDS) {
      const resources = this.#resources[kind];
      stack.use(
        replayAndSubscribe(resources, (change) => controller.resourceChanged(kind, change)),
      );
      if (resources instanceof FannedOut)
        stack.use(resources.onUnselected((key) => controller.unselected(kind, key)));
    }
    stack.use(targetSecrets.onChange((change) => controller.targetChanged("Secret", change)));
    stack.use(targetConfigMaps.onChange((change) => controller.targetChanged("ConfigMap", change)));
    if (mergedSecrets)
      stack.use(mergedSecrets.onChange((change) => controller.mergedChanged("Secret", change)));
    stack.use(mergedConfigMaps.onChange((change) => controller.mergedChanged("ConfigMap", change)));
    return stack;
  }
}
