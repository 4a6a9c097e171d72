import {
  API_GROUP,
  API_VERSION,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultPushKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { CREDENTIALS_TYPE } from "../../../src/operator/api/names.ts";
import { operatorConfig, type OperatorFlags } from "../../../src/operator/config.ts";
import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import { runEngine } from "../../../src/operator/engine.ts";
import { EVENTS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { MetricsRegistry } from "../../../src/telemetry/metrics-registry.ts";
import { VirtualClock } from "../clock/virtual-clock.ts";
import { ApiClient, type Network } from "../kube/in-memory/api-client.ts";
import { InMemoryApiServer } from "../kube/in-memory/in-memory-api-server.ts";
import { InMemoryTransport, type VaultNetwork } from "../vault/in-memory/in-memory-transport.ts";
import { InMemoryVault } from "../vault/in-memory/in-memory-vault.ts";

const apiVersion = `${API_GROUP}/${API_VERSION}`;
const OPERATOR_NAMESPACE = "vaultsync-system";
const PASSWORD = "canary-password";
export const ACCOUNT = "ops@example.com";
export const OTHER = "ann@example.com";
export const NAMESPACE = "shop";

type Data = Readonly<Record<string, string | Uint8Array>>;

const encoded = (data: Data): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );

/**
 * The whole operator on a virtual clock, with an API server and one vault in memory, for
 * VaultPushes in the namespace `shop`.
 */
export class PushScene implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly server = new InMemoryApiServer({ clock: this.clock });
  readonly vault = new InMemoryVault(this.clock);
  /** Requests to the vault, each as its operation, without logins. */
  readonly vaultRequests: string[] = [];
  /**
   * Requests about single objects of the operator to the API server, each as `<verb> <plural>
   * <name>`.
   */
  readonly requests: string[] = [];
  /** The networks between the operator and both servers. */
  network: Network = {};
  vaultNetwork: VaultNetwork = {};
  #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /**
   * Starts an operator. The namespace has the connection `vault`, whose account is {@link ACCOUNT}.
   */
  static async start(flags?: OperatorFlags): Promise<PushScene> {
    const scene = new PushScene();
    scene.server.createNamespace(OPERATOR_NAMESPACE);
    scene.vault.setPassword(ACCOUNT, PASSWORD);
    scene.vault.setPassword(OTHER, PASSWORD);
    scene.namespace(NAMESPACE);
    scene.run(flags);
    await scene.settle();
    return scene;
  }

  /** Creates a namespace with a connection. */
  namespace(namespace: string): void {
    this.server.createNamespace(namespace);
    const data = encoded({ password: PASSWORD });
    const metadata = { namespace, name: "login" };
    this.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata,
      type: CREDENTIALS_TYPE,
      data,
    });
    this.connection("vault", {}, namespace);
  }

  connection(name: string, changes: object = {}, namespace = NAMESPACE): void {
    const auth = { passwordSecretRef: { name: "login" } };
    const spec = {
      url: "https://vault.example.com",
      email: ACCOUNT,
      auth,
      refreshInterval: "10s",
      ...changes,
    };
    this.put(vaultConnectionKind, name, spec, namespace);
  }

  /**
   * Creates or changes the VaultPush `name` of the Secret `source`. By default its key `password`
   * is pushed to the secret `db`.
   */
  push(changes: object = {}, name = "push", namespace = NAMESPACE): void {
    const data = [{ secretKey: "password", remoteRef: { key: "db" } }];
    const spec = {
      connectionRef: { name: "vault" },
      secret: { name: "source" },
      data,
      refreshInterval: "10s",
      ...changes,
    };
    this.put(vaultPushKind, name, spec, namespace);
  }

  /**
   * Creates or changes the VaultSecret `db` or VaultFile `conf` whose target is the Secret
   * `source`.
   */
  read(kind: "VaultSecret" | "VaultFile", changes: object = {}): void {
    const common = { connectionRef: { name: "vault" } };
    const spec =
      kind === "VaultSecret"
        ? {
            ...common,
            data: [{ secretKey: "password", remoteRef: { key: "db" } }],
            target: { name: "source" },
          }
        : { ...common, files: [{ filename: "conf" }], target: { kind: "Secret", name: "source" } };
    this.put(
      kind === "VaultSecret" ? vaultSecretKind : vaultFileKind,
      "reader",
      { ...spec, ...changes },
      NAMESPACE,
    );
  }

  put(kind: Kind, name: string, spec: object, namespace: string): void {
    const ref = { namespace, name };
    const before = this.server.find(kind, ref);
    if (before === undefined)
      this.server.create(kind, { apiVersion, kind: kind.kind, metadata: ref, spec });
    else this.server.replace(kind, { ...before, spec });
  }

  /** Creates or replaces the Secret `source`, as a user does. */
  source(data: Data, { type = "Opaque", namespace = NAMESPACE } = {}): void {
    const ref = { namespace, name: "source" };
    const before = this.server.find(SECRETS, ref);
    const content = { type, data: encoded(data) };
    if (before === undefined)
      this.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: ref, ...content });
    else this.server.replace(SECRETS, { ...before, ...content });
  }

  resource(name = "push", namespace = NAMESPACE): KubeObject {
    return this.server.get(vaultPushKind, { namespace, name });
  }

  exists(name = "push"): boolean {
    return this.server.find(vaultPushKind, { namespace: NAMESPACE, name }) !== undefined;
  }

  delete(name = "push"): void {
    this.server.delete(vaultPushKind, { namespace: NAMESPACE, name });
  }

  status(name = "push", namespace = NAMESPACE): ReturnType<typeof readPushStatus> {
    return readPushStatus(this.resource(name, namespace)["status"]);
  }

  condition(type = "Ready", name = "push", namespace = NAMESPACE) {
    return this.status(name, namespace).conditions?.find((one) => one.type === type);
  }

  reason(name = "push", namespace = NAMESPACE): string | undefined {
    return this.condition("Ready", name, namespace)?.reason;
  }

  /**
   * Returns the values of all versions of a secret or file in the vault, in order; gaps are empty.
   */
  versions(name = "db", kind: "secret" | "file" = "secret", owner = ACCOUNT): string[] {
    const values = Array.from({ length: 20 }, (_, at) =>
      this.vault.bytesOf(kind, owner, name, at + 1),
    );
    const last = values.findLastIndex((bytes) => bytes !== undefined);
    return values.slice(0, last + 1).map((bytes) => Buffer.from(bytes ?? []).toString());
  }

  /** Reasons of the recorded events about VaultPushes. */
  get events(): string[] {
    return this.server
      .all(EVENTS)
      .map((event) => `${String(event["reason"])}: ${String(event["note"])}`);
  }

  /** Returns the requests to the vault since the last call. */
  takeVaultRequests(): string[] {
    return this.vaultRequests.splice(0);
  }

  /** Lets the operator work. The default is longer than the interval of all checks. */
  settle(ms = 30_000): Promise<void> {
    return this.clock.advance(ms);
  }

  run(flags: OperatorFlags = { leaderElect: false }): void {
    const { clock, server } = this;
    this.#stop = new AbortController();
    const client = new ApiClient(server, { network: this.#apiNetwork() });
    const api = Object.assign(client, { fenced: () => client });
    const names = { namespace: OPERATOR_NAMESPACE, identity: "operator-1", host: "operator-1" };
    const config = operatorConfig(flags);
    const network: VaultNetwork = {
      send: (request, signal) => {
        if (request.operation !== "generate_access_token")
          this.vaultRequests.push(request.operation);
        return this.vaultNetwork.send?.(request, signal) ?? Promise.resolve(undefined);
      },
      respond: (request, response, signal) =>
        this.vaultNetwork.respond?.(request, response, signal) ?? Promise.resolve(response),
    };
    const ports = {
      api,
      leaseApi: api,
      openTransport: () =>
        new InMemoryTransport({ vault: this.vault, clock, network, holdsLists: false }),
      clock,
      metrics: new MetricsRegistry(),
      logger: silentLogger,
      random: () => 0.5,
      onReady: () => undefined,
    };
    this.#running = runEngine({ ...ports, ...names, config }, this.#stop.signal);
  }

  /** Replaces the operator by one that remembers nothing. `meanwhile` happens while none runs. */
  async restart(meanwhile: () => void = () => undefined): Promise<void> {
    await this[Symbol.asyncDispose]();
    this.network = {};
    this.vaultNetwork = {};
    meanwhile();
    this.run();
    await this.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the test has ended"));
    await this.clock.advance(20_000);
    await this.#running;
  }

  #apiNetwork(): Network {
    return {
      send: (request, signal) => {
        const { verb, resource, ref } = request;
        const isSingle = verb !== "list" && verb !== "watch" && resource.plural !== EVENTS.plural;
        if (isSingle) this.requests.push(`${verb} ${resource.plural} ${ref.name}`);
        return this.network.send?.(request, signal);
      },
      respond: (request, signal) => this.network.respond?.(request, signal),
      watchLagMs: (request) => this.network.watchLagMs?.(request) ?? 0,
    };
  }
}
