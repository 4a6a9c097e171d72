import type {
  ConnectionState,
  OpenConnection,
} from "../../../src/operator/controllers/connection/connection-state.ts";
import { fileSource } from "../../../src/operator/controllers/sync/file-source.ts";
import { FreshLists } from "../../../src/operator/controllers/outcome/fresh-lists.ts";
import { Propagations } from "../../../src/operator/controllers/sync/propagations.ts";
import { secretSource } from "../../../src/operator/controllers/sync/secret-source.ts";
import { SyncReconciler } from "../../../src/operator/controllers/sync/sync-reconciler.ts";
import { targetMetadata } from "../../../src/operator/controllers/sync/target-metadata.ts";
import { TargetRecords } from "../../../src/operator/controllers/sync/target-records.ts";
import { TargetWriter } from "../../../src/operator/controllers/sync/target-writer.ts";
import { ObjectStore } from "../../../src/operator/kube/cache/object-store.ts";
import type { ReconcileResult } from "../../../src/operator/runtime/controller.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { type TargetMetadata, vaultId } from "../../../src/operator/sync/target.ts";
import type { EntryReader, SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";
import { ListSnapshot } from "../../../src/operator/vault-client/mirror/list-snapshot.ts";
import { trackRecords } from "../../../src/operator/vault-client/mirror/read-list.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { InMemoryConnection } from "../vault/in-memory-connection.ts";
import { secretRecord } from "../vault/secret-record.ts";
import { ignoredCallbacks, openConnection } from "../vault/open-connection.ts";
import { InMemoryKubeApi } from "./in-memory-kube-api.ts";
import { QueueLimits } from "../../../src/operator/runtime/queue-limits.ts";
import { entriesOf, forEachKind } from "../../../src/operator/sync/sync-key.ts";

const KEY = "shop/db";

/** A vault in memory, whose secrets have the value `<vault> <name>@<version>`. */
export class SceneVault extends InMemoryConnection {
  readonly #name: string;
  #last: ListSnapshot | undefined;
  readonly #now: () => { readonly listedAt: number; readonly listedAtMonotonic: number };

  constructor(name: string, clock: VirtualClock) {
    super(clock, ignoredCallbacks);
    this.#name = name;
    this.#now = () => ({ listedAt: clock.now(), listedAtMonotonic: clock.monotonic() });
  }

  /** Replaces the list by these secrets of the account. */
  lists(...secrets: Partial<SecretRecord>[]): void {
    const records = secrets.map((changes) =>
      secretRecord({ owner: "ops@example.com", ...changes }),
    );
    const lists = (this.#last?.progress("secret")?.lists ?? 0) + 1;
    const now = this.#now();
    const progress = { lists, at: now.listedAtMonotonic, previousAt: -Infinity };
    const origin = { ...now, progress: { secret: progress, file: progress } };
    const list = trackRecords(records, new Set(["db", "other"]));
    this.#last = new ListSnapshot(origin, list, undefined, this.#last);
    this.snapshot = this.#last;
  }

  override reader({ name }: SecretRecord): EntryReader {
    return (version) => {
      const bytes = new Redacted(new TextEncoder().encode(`${this.#name} ${name}@${version}`));
      return Promise.resolve({ bytes, version });
    };
  }
}

/**
 * The VaultSecret `shop/db`, whose key `password` follows the secret `db`, and everything that
 * reconciles it.
 */
export class SyncScene {
  readonly clock = new VirtualClock();
  readonly api = new InMemoryKubeApi();
  readonly #connections = new Map<string, ConnectionState>();
  /** Reasons of the recorded events, in order. */
  readonly events: string[] = [];
  readonly vault = this.connect("vault");
  readonly #resources = new ObjectStore<KubeObject>();
  readonly #targets = {
    Secret: new ObjectStore<TargetMetadata>(),
    ConfigMap: new ObjectStore<TargetMetadata>(),
  };
  #reconciler = this.#start();

  constructor() {
    const metadata = { name: "db", namespace: "shop", uid: "uid-1", generation: 1 };
    this.api.put("vaultsecrets", {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata,
    });
    this.follow("vault");
  }

  /**
   * Returns a scene whose target is in sync with this version, and whose events begin after that.
   */
  static async synced(version = 1): Promise<SyncScene> {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db", version });
    const outcome = await scene.reconcile();
    if (outcome !== `vault db@${version}, Synced`)
      throw new Error(`the target is not in sync: ${outcome}`);
    scene.events.length = 0;
    return scene;
  }

  /** Makes the resource refer to this connection, and its keys to these secrets. */
  follow(
    connection: string,
    keys: Readonly<Record<string, string>> = { password: "db" },
    target: object = {},
  ): void {
    const data = Object.entries(keys).map(([secretKey, key]) => ({
      secretKey,
      remoteRef: { key },
    }));
    this.#changeSpec({ connectionRef: { name: connection }, data, target });
  }

  suspend(suspend: boolean): void {
    this.#changeSpec({ ...this.resource.spec, suspend });
  }

  /** Restarts the operator: everything that it remembers in memory is lost. */
  restart(): void {
    this.#reconciler = this.#start();
  }

  /** Reconciles once in another process of the operator that has the same watches. */
  async reconcileElsewhere(): Promise<void> {
    const own = this.#reconciler;
    this.#reconciler = this.#start();
    await this.reconcileOnce();
    this.#reconciler = own;
  }

  /**
   * Reconciles until nothing is written, and returns the value of the target, if there is one, and
   * the reason of Ready.
   */
  async reconcile(): Promise<string> {
    for (let before = ""; before !== this.#versions();) {
      before = this.#versions();
      await this.reconcileOnce();
    }
    const value = Buffer.from(this.target?.data?.password ?? "", "base64").toString();
    return `${value || "absent"}, ${this.status.conditions?.find(({ type }) => type === "Ready")?.reason}`;
  }

  /**
   * Reconciles once, with what the API server has now; `showsTarget: false` if the watch of targets
   * has not shown it yet, `"before"` if that is silent since the last reconcile.
   */
  reconcileOnce({
    showsTarget = true,
  }: { showsTarget?: boolean | "before" } = {}): Promise<ReconcileResult> {
    this.#watch(showsTarget);
    return this.reconcileKey(`VaultSecret/${KEY}`);
  }

  reconcileKey(key: string): Promise<ReconcileResult> {
    return this.#reconciler.reconcile(key, new AbortController().signal);
  }

  get resource(): KubeObject & { readonly spec?: object } {
    const resource = this.api.objects.get(`vaultsecrets/${KEY}`);
    if (resource === undefined) throw new Error("the VaultSecret does not exist");
    return resource;
  }

  get status(): ReturnType<typeof readStatus> {
    return readStatus("VaultSecret", this.resource.status);
  }

  get target(): (KubeObject & { readonly data?: Readonly<Record<string, string>> }) | undefined {
    return this.api.objects.get(`secrets/${KEY}`);
  }

  /** Changes annotations of the target, as a user or a tool does. */
  annotate(annotations: Readonly<Record<string, string>>): void {
    if (this.target === undefined) throw new Error("the target does not exist");
    const { metadata } = this.target;
    this.api.put("secrets", {
      ...this.target,
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
    });
  }

  /** Changes the value of the target, as a user does. */
  edit(value: string): void {
    if (this.target === undefined) throw new Error("the target does not exist");
    this.api.put("secrets", {
      ...this.target,
      data: { password: Buffer.from(value).toString("base64") },
    });
  }

  /** Calls `change` before the next read of the target is carried out. */
  beforeNextRead(change: () => void): void {
    const { api } = this;
    const get = api.get.bind(api);
    api.get = (resource, ref) => {
      api.get = get;
      change();
      return get(resource, ref);
    };
  }

  /** Sets the state of a connection. */
  setConnection(name: string, state: ConnectionState): void {
    this.#connections.set(`shop/${name}`, state);
  }

  /** Opens, or replaces, a connection of this name to a vault of the same name. */
  connect(name: string, scope = "*", changes: Partial<OpenConnection> = {}): SceneVault {
    const connection = new SceneVault(name, this.clock);
    const vault = vaultId(`https://${name}.example.com`, "ops@example.com");
    this.setConnection(
      name,
      openConnection(connection, { id: `${name} ${scope}`, vault, ...changes }),
    );
    return connection;
  }

  #start(): SyncReconciler {
    const { api, clock } = this;
    const watched = {
      Secret: { store: this.#targets.Secret },
      ConfigMap: { store: this.#targets.ConfigMap },
    };
    const targets = new TargetRecords({ watched, clock, requeue: () => undefined });
    const contentKey = new Redacted(new TextEncoder().encode("key of the installation"));
    return new SyncReconciler({
      kinds: forEachKind((kind) => ({
        source: entriesOf(kind) === "file" ? fileSource : secretSource(),
        resources: kind === "VaultSecret" ? this.#resources : new ObjectStore<KubeObject>(),
      })),
      connections: { get: (key) => this.#connections.get(key) ?? { state: "absent" } },
      access: { of: () => () => true, isCurrent: () => true, isAvailable: true },
      targets,
      provesUse: false,
      writer: new TargetWriter({ api, targets, contentKey, clock, limits: new QueueLimits(clock) }),
      contentKey,
      freezes: { of: () => undefined },
      lists: new FreshLists(clock, () => undefined),
      propagations: new Propagations(clock, () => undefined),
      observer: { written: () => undefined },
      api,
      events: { record: ({ reason }) => void this.events.push(reason) },
      clock,
      logger: silentLogger,
    });
  }

  #changeSpec(spec: object): void {
    const { metadata, ...rest } = this.resource;
    const generation = (metadata.generation ?? 0) + 1;
    this.api.put("vaultsecrets", { ...rest, metadata: { ...metadata, generation }, spec });
  }

  #versions(): string {
    return [...this.api.objects]
      .map(([key, { metadata }]) => `${key}@${metadata.resourceVersion}`)
      .join();
  }

  /** Shows the stores the current objects, as the watches do. */
  #watch(showsTarget: boolean | "before"): void {
    const { resource } = this;
    this.#resources.set(KEY, { ...identityOf(resource), value: resource });
    if (showsTarget === "before") return;
    const target = showsTarget ? this.target : undefined;
    if (target !== undefined)
      this.#targets.Secret.set(KEY, { ...identityOf(target), value: targetMetadata(target) });
    else this.#targets.Secret.delete(KEY, `uid-of-db`);
  }
}

const identityOf = ({ metadata: { uid, resourceVersion } }: KubeObject) => ({
  uid,
  resourceVersion,
});
