import { vaultConnectionKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { BlastLimits } from "../../../src/operator/controllers/connection/blast-limit.ts";
import { Controllers } from "../../../src/operator/controllers.ts";
import {
  createReflectors,
  createWorkloadWatches,
  namespaceWatches,
} from "../../../src/operator/reflectors.ts";
import {
  ALL_NAMESPACES,
  type KubeObject,
  type ResourceDescriptor,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import type { EventRecord } from "../../../src/operator/kube/event-recorder.ts";
import { PushBudget } from "../../../src/operator/controllers/push/push-budget.ts";
import { QueueLimits } from "../../../src/operator/runtime/queue-limits.ts";
import { readStatus } from "../../../src/operator/sync/sync-status.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { Redacted } from "../../../src/lib/redacted.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ListedVault } from "../vault/listed-vault.ts";
import { ApiClient, type Network } from "../simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../simulated/api-server/in-memory-api-server.ts";

const NAMESPACE = "shop";
const OPERATOR_NAMESPACE = "vaultsync-system";
type Spec = Readonly<Record<string, unknown>>;
/** One key of a VaultSecret and the secret that it follows. */
type Data = Readonly<
  Record<
    string,
    string | { readonly key: string; readonly version?: number; readonly owner?: string }
  >
>;

/**
 * A running operator on a virtual clock, with an API server and vaults in memory. Its objects are
 * in the namespace `shop`.
 */
export class OperatorScene implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  /** Requests of the operator about resources and targets, each as `<verb> <plural> <name>`. */
  readonly requests: string[] = [];
  readonly events: EventRecord[] = [];
  /**
   * Measured times from a list that showed a change to the write of the target, in milliseconds.
   */
  readonly propagated: number[] = [];
  /** Restarts that ended, each as `<kind> <result>`. */
  readonly restarts: string[] = [];
  /** The operator follows the annotation of workloads. */
  autoRestart = true;
  /** The network between the operator and the API server. */
  network: Network = {};
  readonly #vaults = new Map<string, ListedVault>();
  #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  /** Starts an operator. The namespace has the connection `vault` to a vault of the same name. */
  static async start(): Promise<OperatorScene> {
    const scene = new OperatorScene();
    scene.server.createNamespace(NAMESPACE);
    scene.connection("vault");
    await scene.restart();
    return scene;
  }

  /**
   * Stops the operator, if it runs, and starts another one that remembers nothing. `takesOver`: its
   * watches of workloads are complete before its controllers start, as in a replica that becomes
   * leader.
   */
  async restart({ takesOver = false } = {}): Promise<void> {
    await this.stop();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const { clock, server } = this;
    const deps = { clock, random: () => 0.5, logger: silentLogger };
    const api = new ApiClient(server, {
      network: {
        send: (request, aborted) => {
          const { verb, resource, ref } = request;
          const isCounted = verb !== "list" && verb !== "watch" && resource !== vaultConnectionKind;
          if (isCounted) this.requests.push(`${verb} ${resource.plural} ${ref.name}`);
          return this.network.send?.(request, aborted);
        },
        respond: (request, aborted) => this.network.respond?.(request, aborted),
        watchLagMs: (request) => this.network.watchLagMs?.(request) ?? 0,
      },
    });
    const watchOptions = { ...deps, api, isForCluster: true, watchSecrets: true, relistMs: 0 };
    const reflectors = createReflectors(watchOptions);
    const workloads = createWorkloadWatches(watchOptions);
    if (takesOver) for (const watch of Object.values(workloads)) watch.demand();
    const watches = namespaceWatches(reflectors, workloads);
    watches.serve([ALL_NAMESPACES]);
    await clock.advance(takesOver ? 1_000 : 10);
    const controllers = new Controllers({
      ...deps,
      api,
      reflectors,
      restarts: {
        ...reflectors,
        workloads,
        isResponsible: () => true,
        windowMs: 30_000,
        auto: this.autoRestart,
      },
      namespace: OPERATOR_NAMESPACE,
      cluster: reflectors,
      fence: undefined,
      events: { record: (event) => void this.events.push(event) },
      connectionFactory: ({ settings }, callbacks) =>
        this.vault(new URL(settings.url).hostname.split(".")[0]).connect(clock, callbacks),
      contentKey: new Redacted(new TextEncoder().encode("key of the installation")),
      allowedSecretTypes: ["example.com/token"],
      blastLimits: new BlastLimits(),
      limits: { sync: new QueueLimits(clock, 16), connections: new QueueLimits(clock, 16) },
      pushBudget: new PushBudget(clock),
      resyncMs: 0,
      observer: {
        reconciled: () => undefined,
        written: () => undefined,
        changePropagated: (ms) => void this.propagated.push(ms),
        restartEnded: (kind, result) => void this.restarts.push(`${kind} ${result}`),
      },
      signal,
    });
    const subscribed = controllers.subscribe();
    this.#running = controllers.run(signal).then(async () => {
      subscribed[Symbol.dispose]();
      await controllers[Symbol.asyncDispose]();
      await watches[Symbol.asyncDispose]();
    });
    await this.settle();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Lets the operator work for a while: long enough for everything that waits for less than a
   * second.
   */
  settle(ms = 5_000): Promise<void> {
    return this.clock.advance(ms);
  }

  vault(name = "vault"): ListedVault {
    const vault = this.#vaults.get(name) ?? new ListedVault(name);
    this.#vaults.set(name, vault);
    return vault;
  }

  /** Creates or changes a connection to the vault of the same name. */
  connection(name: string, spec: Spec = {}): void {
    const auth = { passwordSecretRef: { name: "credentials" } };
    this.put(vaultConnectionKind, name, {
      url: `https://${name}.example.com`,
      email: "ops@example.com",
      auth,
      ...spec,
    });
  }

  /** Creates or changes the VaultSecret of this name. */
  follow(
    data: Data,
    {
      name = "db",
      connection = "vault",
      ...spec
    }: Spec & { name?: string; connection?: string } = {},
  ): void {
    const entries = Object.entries(data).map(([secretKey, source]) => ({
      secretKey,
      remoteRef: typeof source === "string" ? { key: source } : source,
    }));
    this.put(vaultSecretKind, name, {
      connectionRef: { name: connection },
      data: entries,
      ...spec,
    });
  }

  put(resource: ResourceDescriptor, name: string, spec: Spec): void {
    const ref = { namespace: NAMESPACE, name };
    const before = this.server.find(resource, ref);
    const apiVersion = `${resource.group}/${resource.version}`;
    if (before === undefined)
      this.server.create(resource, { apiVersion, kind: resource.kind, metadata: ref, spec });
    else this.server.replace(resource, { ...before, spec });
  }

  annotate(annotations: Readonly<Record<string, string | null>>, name = "db"): void {
    this.server.patch(
      vaultSecretKind,
      { namespace: NAMESPACE, name },
      { metadata: { annotations } },
    );
  }

  resource(name = "db"): KubeObject {
    return this.server.get(vaultSecretKind, { namespace: NAMESPACE, name });
  }

  status(name = "db"): ReturnType<typeof readStatus> {
    return readStatus("VaultSecret", this.resource(name)["status"]);
  }

  target(
    name = "db",
  ): (KubeObject & { readonly data?: Readonly<Record<string, string>> }) | undefined {
    return this.server.find(SECRETS, { namespace: NAMESPACE, name });
  }

  /** Changes the values of a target, as a user does. */
  edit(data: Readonly<Record<string, string>>, name = "db"): void {
    const encoded = Object.entries(data).map(
      ([key, value]) => [key, Buffer.from(value).toString("base64")] as const,
    );
    this.server.patch(
      SECRETS,
      { namespace: NAMESPACE, name },
      { data: Object.fromEntries(encoded) },
    );
  }

  deleteTarget(name = "db"): void {
    this.server.delete(SECRETS, { namespace: NAMESPACE, name });
  }

  /** Returns the values of the target by key, and the reason of Ready. */
  outcome(name = "db"): string {
    const data = Object.entries(this.target(name)?.data ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
    const values = data
      .map(([key, value]) => `${key}=${Buffer.from(value, "base64").toString()}`)
      .join(" ");
    return `${values || "absent"}, ${this.condition("Ready", name)?.reason}`;
  }

  condition(type: string, name = "db") {
    return this.status(name).conditions?.find((one) => one.type === type);
  }

  /** Returns the requests since the last call. */
  takeRequests(): string[] {
    return this.requests.splice(0);
  }
}
