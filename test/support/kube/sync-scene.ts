import type { OpenConnection } from "../../../src/operator/controllers/connection/connection-registry.ts";
import { fileSource } from "../../../src/operator/controllers/sync/file-source.ts";
import { ForcedSyncs } from "../../../src/operator/controllers/sync/forced-syncs.ts";
import { secretSource } from "../../../src/operator/controllers/sync/secret-source.ts";
import { SyncReconciler } from "../../../src/operator/controllers/sync/sync-reconciler.ts";
import { targetMetadata } from "../../../src/operator/controllers/sync/target-metadata.ts";
import { TargetRecords } from "../../../src/operator/controllers/sync/target-records.ts";
import { TargetWriter } from "../../../src/operator/controllers/sync/target-writer.ts";
import { ObjectStore } from "../../../src/operator/kube/cache/object-store.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { type TargetMetadata, vaultId } from "../../../src/operator/sync/target.ts";
import type { SecretRecord, SecretValue } from "../../../src/operator/vault-client/connection.ts";
import { readStatus } from "../../../src/operator/sync/sync-status.ts";
import { ListSnapshot } from "../../../src/operator/vault-client/mirror/list-snapshot.ts";
import { byName } from "../../../src/operator/vault-client/mirror/read-list.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { InMemoryConnection } from "../vault/in-memory-connection.ts";
import { secretRecord } from "../vault/secret-record.ts";
import { InMemoryKubeApi } from "./in-memory-kube-api.ts";

const KEY = "shop/db";

/** A vault in memory, whose secrets have the value `<vault> <name>@<version>`. */
export class SceneVault extends InMemoryConnection {
  readonly #name: string;
  #last: ListSnapshot | undefined;
  readonly #now: () => { readonly listedAt: number; readonly listedAtMonotonic: number };

  constructor(name: string, clock: VirtualClock) {
    super(clock, {
      onChange: () => undefined,
      onHealth: () => undefined,
      onTokenChange: () => undefined,
      onCircuitChange: () => undefined,
    });
    this.#name = name;
    this.#now = () => ({ listedAt: clock.now(), listedAtMonotonic: clock.monotonic() });
  }

  /** Replaces the list by these secrets of the account. */
  lists(...secrets: Partial<SecretRecord>[]): void {
    const records = secrets.map((changes) => secretRecord({ owner: "ops@example.com", ...changes }));
    const sequence = (this.#last?.sequence ?? 0) + 1;
    const now = this.#now();
    const progress = { lists: sequence, at: now.listedAtMonotonic };
    const origin = { ...now, sequence, progress: { secret: progress, file: progress } };
    const list = { records: byName(records), tracked: new Set(["db"]), count: records.length };
    this.#last = new ListSnapshot(origin, list, undefined, this.#last);
    this.snapshot = this.#last;
  }

  override secretValue({ name }: SecretRecord = secretRecord(), version = 1): Promise<SecretValue> {
    const value = new TextEncoder().encode(`${this.#name} ${name}@${version}`);
    return Promise.resolve({ value: new Redacted(value), version });
  }
}

/** The VaultSecret `shop/db`, whose key `password` follows the secret `db`, and everything that reconciles it. */
export class SyncScene {
  readonly clock = new VirtualClock();
  readonly api = new InMemoryKubeApi();
  readonly #connections = new Map<string, OpenConnection>();
  readonly vault = this.connect("vault");
  readonly #resources = new ObjectStore<KubeObject>();
  readonly #targets = { Secret: new ObjectStore<TargetMetadata>(), ConfigMap: new ObjectStore<TargetMetadata>() };
  #reconciler = this.#start();

  constructor() {
    const metadata = { name: "db", namespace: "shop", uid: "uid-1", generation: 1 };
    this.api.put("vaultsecrets", { apiVersion: "vaultsync.dev/v1alpha1", kind: "VaultSecret", metadata });
    this.follow("vault");
  }

  /** Makes the resource refer to this connection. */
  follow(connection: string): void {
    const data = [{ secretKey: "password", remoteRef: { key: "db" } }];
    this.#changeSpec({ connectionRef: { name: connection }, data });
  }

  suspend(suspend: boolean): void {
    this.#changeSpec({ ...this.resource.spec, suspend });
  }

  /** Restarts the operator: everything that it remembers in memory is lost. */
  restart(): void {
    this.#reconciler = this.#start();
  }

  /** Reconciles until nothing is written, and returns the value of the target, if there is one, and the reason of Ready. */
  async reconcile(): Promise<string> {
    for (let before = ""; before !== this.#versions();) {
      before = this.#versions();
      this.#watch();
      await this.#reconciler.reconcile(`VaultSecret/${KEY}`, new AbortController().signal);
    }
    const value = Buffer.from(this.target?.data?.password ?? "", "base64").toString();
    return `${value || "absent"}, ${this.status.conditions?.find(({ type }) => type === "Ready")?.reason}`;
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

  /** Opens, or replaces, a connection of this name to a vault of the same name. */
  connect(name: string, scope = "*"): SceneVault {
    const connection = new SceneVault(name, this.clock);
    const account = "ops@example.com";
    const vault = vaultId(`https://${name}.example.com`, account);
    this.#connections.set(`shop/${name}`, {
      state: "open",
      connection,
      id: `${name} ${scope}`,
      vault,
      account,
      trustedOwners: undefined,
      removals: { held: 0, untilProven: () => Number.POSITIVE_INFINITY },
      staleSince: undefined,
      intervalMs: 60_000,
    });
    return connection;
  }

  #start(): SyncReconciler {
    const { api, clock } = this;
    const targets = new TargetRecords({ stores: this.#targets, clock, onUnseen: () => undefined });
    const contentKey = new Redacted(new TextEncoder().encode("key of the installation"));
    return new SyncReconciler({
      kinds: {
        VaultSecret: { source: secretSource(), resources: this.#resources },
        VaultFile: { source: fileSource, resources: new ObjectStore<KubeObject>() },
      },
      connections: { get: (key) => this.#connections.get(key) ?? { state: "absent" } },
      targets,
      writer: new TargetWriter({ api, targets, contentKey, clock }),
      forced: new ForcedSyncs(clock, () => undefined),
      onTargetWritten: () => undefined,
      api,
      events: { record: () => undefined },
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
    return [...this.api.objects].map(([key, { metadata }]) => `${key}@${metadata.resourceVersion}`).join();
  }

  /** Shows the stores the current objects, as the watches do. */
  #watch(): void {
    const { resource, target } = this;
    this.#resources.set(KEY, { ...identityOf(resource), value: resource });
    if (target !== undefined) this.#targets.Secret.set(KEY, { ...identityOf(target), value: targetMetadata(target) });
    else this.#targets.Secret.delete(KEY, `uid-of-db`);
  }
}

const identityOf = ({ metadata: { uid, resourceVersion } }: KubeObject) => ({ uid, resourceVersion });
