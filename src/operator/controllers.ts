import { ConnectionController } from "./controllers/connection/connection-controller.ts";
import { ConnectionReconciler, type ConnectionFactory } from "./controllers/connection/connection-reconciler.ts";
import { ConnectionRegistry } from "./controllers/connection/connection-registry.ts";
import { fileSource } from "./controllers/sync/file-source.ts";
import { secretSource } from "./controllers/sync/secret-source.ts";
import { SyncReconciler } from "./controllers/sync/sync-reconciler.ts";
import type { SourceKind } from "./controllers/sync/source-kind.ts";
import { SyncController } from "./controllers/sync/sync-controller.ts";
import { TargetView } from "./controllers/sync/target-view.ts";
import { TargetWriter } from "./controllers/sync/target-writer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import type { Redacted } from "../lib/redacted.ts";
import type { EventRecorder } from "./kube/event-recorder.ts";
import type { KubeApi } from "./kube/client/kube-api.ts";
import type { KubeObject } from "./kube/resource.ts";
import type { Reflector } from "./kube/cache/reflector.ts";
import type { ReadonlyStore, StoreChange } from "./kube/cache/object-store.ts";
import type { ControllerObserver } from "./runtime/controller.ts";
import type { Candidate } from "./sync/resolve.ts";
import type { Reflectors } from "./reflectors.ts";

export interface ControllersOptions {
  readonly api: KubeApi;
  readonly reflectors: Reflectors;
  readonly events: EventRecorder;
  readonly connectionFactory: ConnectionFactory;
  readonly contentKey: Redacted<Uint8Array>;
  readonly concurrency: number;
  readonly observer: ControllerObserver;
  /** Aborted when the operator stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** A controller of VaultSecrets or VaultFiles. */
type AnySyncController = Pick<
  SyncController<never>,
  "references" | "resourceChanged" | "targetChanged" | "onSnapshotChange" | "onConnectionStateChange" | "run"
>;

/** The three controllers and what they share. Passes the changes of each reflector to the controllers that it concerns. */
export class Controllers implements AsyncDisposable {
  readonly connections: ConnectionRegistry;
  readonly #options: ControllersOptions;
  readonly #targets: TargetView;
  readonly #secrets: AnySyncController;
  readonly #files: AnySyncController;
  readonly #connectionReconciler: ConnectionReconciler;
  readonly #connection: ConnectionController;

  constructor(options: ControllersOptions) {
    const { reflectors, clock } = options;
    this.#options = options;
    this.#targets = new TargetView(
      { Secret: reflectors.targetSecrets.store, ConfigMap: reflectors.targetConfigMaps.store },
      clock,
    );
    const exists = (key: string): boolean => {
      const object = reflectors.connections.store.get(key);
      return object !== undefined && object.metadata.deletionTimestamp === undefined;
    };
    this.connections = new ConnectionRegistry(clock, exists, {
      onSnapshotChange: (key, change) => this.#forEachSyncController((controller) => controller.onSnapshotChange(key, change)),
      onConnectionStateChange: (key) => this.#forEachSyncController((controller) => controller.onConnectionStateChange(key)),
      onConnectionStatusChange: (key) => this.#connection.statusChanged(key),
    });
    this.#secrets = this.#syncController(secretSource, reflectors.secrets.store);
    this.#files = this.#syncController(fileSource, reflectors.files.store);
    this.#connectionReconciler = new ConnectionReconciler({
      ...options,
      resources: reflectors.connections.store,
      connections: this.connections,
      usersOf: (key) => this.#usersOf(key),
    });
    this.#connection = new ConnectionController({ ...options, reconciler: this.#connectionReconciler });
  }

  /** Passes the current objects and all later changes to the controllers, until the returned handle is disposed. */
  subscribe(): Disposable {
    const { connections, secrets, files, targetSecrets, targetConfigMaps, credentials } = this.#options.reflectors;
    const stack = new DisposableStack();
    stack.use(replayAndSubscribe(connections, (change) => this.#connection.resourceChanged(change)));
    stack.use(replayAndSubscribe(secrets, (change) => this.#secrets.resourceChanged(change)));
    stack.use(replayAndSubscribe(files, (change) => this.#files.resourceChanged(change)));
    stack.use(
      targetSecrets.onChange((change) => this.#forEachSyncController((controller) => controller.targetChanged("Secret", change))),
    );
    stack.use(targetConfigMaps.onChange((change) => this.#files.targetChanged("ConfigMap", change)));
    stack.use(credentials.onChange(({ key }) => this.#connectionReconciler.credentialsChanged(key)));
    return stack;
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#connection.run(signal), this.#secrets.run(signal), this.#files.run(signal)]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.connections[Symbol.asyncDispose]();
  }

  #forEachSyncController(notify: (controller: AnySyncController) => void): void {
    notify(this.#secrets);
    notify(this.#files);
  }

  #usersOf(connection: string): { readonly count: number; readonly files: boolean } {
    const files = this.#files.references.ofConnection(connection).size;
    return { count: this.#secrets.references.ofConnection(connection).size + files, files: files > 0 };
  }

  #syncController<C extends Candidate>(kind: SourceKind<C>, resources: ReadonlyStore<KubeObject>): AnySyncController {
    const { api, contentKey } = this.#options;
    const targets = this.#targets;
    const writer = new TargetWriter<C>({ api, owner: kind.descriptor, targets, contentKey });
    const reconciler = new SyncReconciler({ ...this.#options, kind, resources, connections: this.connections, targets, writer });
    const onReferencesChange = (connection: string): void => this.#connection.usersChanged(connection);
    return new SyncController({ ...this.#options, kind, reconciler, targets, onReferencesChange });
  }
}

/** Calls the handler for every current object, as added, and for every later change. */
function replayAndSubscribe<T>(reflector: Reflector<T>, handler: (change: StoreChange<T>) => void): Disposable {
  for (const [key, now] of reflector.store.entries()) handler({ type: "added", key, now });
  return reflector.onChange(handler);
}
