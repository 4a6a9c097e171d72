import { expect } from "vitest";
import {
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { FREEZE_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import type { OperatorFlags } from "../../../src/operator/config.ts";
import {
  type KubeObject,
  NAMESPACES,
  type ObjectRef,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";
import { readStatus } from "../../../src/operator/sync/stored-status.ts";
import { Pushes } from "./pushes.ts";
import { OPERATOR_NAMESPACE, SHOP, SimulatedOperator, valuesOf } from "./simulated-operator.ts";
import { ACCOUNT, OTHER, PASSWORD, type SimulatedVault } from "./simulated-vault.ts";
import { Workloads } from "./workloads.ts";

/** Requests that the operator sends for itself and for connections. */
const OTHER_REQUESTS =
  / (?:events|leases|vaultconnections|secrets (?:login|vaultsync-content-key)$)/;

type Target = KubeObject & { readonly data?: Readonly<Record<string, string>> };

/** The secret, version and owner that a key follows. */
interface Source {
  readonly key: string;
  readonly version?: number | "previous";
  readonly owner?: string;
}

/** Name of a VaultSecret, its connection, and further fields of its spec. */
export interface Followed {
  readonly namespace?: string | undefined;
  readonly name?: string;
  readonly connection?: string | ObjectRef;
  readonly [field: string]: unknown;
}

/**
 * The whole operator on a virtual clock, with an API server and vaults in memory. A test says what
 * there is, starts the operator, advances the clock, and reads what the operator did.
 */
export class SimulatedWorld extends SimulatedOperator {
  readonly workloads = new Workloads(this);
  readonly pushes = new Pushes(this);

  /**
   * Starts an operator in a world whose namespace `shop` has the connection `vault` to a vault of
   * the same name. The vault has these secrets. The operator caches no values and waits for no
   * network.
   */
  static async shop(...names: readonly string[]): Promise<SimulatedWorld> {
    const world = new SimulatedWorld({ apiLatencyMs: 0, settleMs: 5_000, immediateVaults: true });
    world.namespace(SHOP);
    world.connect("vault");
    world.vault().lists(...names.map((name) => ({ name })));
    world.start({
      leaderElect: false,
      valueCacheBytes: 0,
      allowedSecretTypes: ["example.com/token"],
    });
    await world.settle();
    return world;
  }

  /**
   * Starts an operator as {@link shop} does, with a VaultSecret that follows these keys of a vault
   * that lists these secrets, and lets it work.
   */
  static async following(
    listed: readonly Partial<SecretRecord>[],
    data: Readonly<Record<string, string | Source>>,
    spec: Followed = {},
  ): Promise<SimulatedWorld> {
    const world = await SimulatedWorld.shop();
    world.vault().lists(...listed);
    world.follow(data, spec);
    await world.settle();
    return world;
  }

  /**
   * Starts an operator in a world whose namespace `shop` has the connection `vault`. The vault has
   * a second user.
   */
  static async forPushes(flags?: OperatorFlags): Promise<SimulatedWorld> {
    // Longer than the interval of all checks.
    const world = new SimulatedWorld({ apiLatencyMs: 0, settleMs: 30_000 });
    world.vault().latencyMs = 0;
    world.vault().setPassword(OTHER, PASSWORD);
    world.pushes.connected(SHOP);
    world.start(flags);
    await world.settle();
    return world;
  }

  /** Replaces the operator by one that remembers nothing, and lets it work. */
  async replace(changes: OperatorFlags = {}): Promise<void> {
    await this.restart(() => undefined, changes);
    await this.settle();
  }

  /** Creates or changes a connection of the namespace `shop` to the vault of the same name. */
  connect(name: string, spec: object = {}): void {
    this.vault(name);
    this.connection({ namespace: SHOP, name }, { url: `https://${name}.example.com`, ...spec });
  }

  /** Replaces the labels of a namespace. */
  label(name: string, labels: Readonly<Record<string, string>>): void {
    const namespace = this.server.get(NAMESPACES, { name });
    this.server.replace(NAMESPACES, { ...namespace, metadata: { ...namespace.metadata, labels } });
  }

  /** Creates or changes a connection, and its account with the password of its namespace. */
  connectAccount(connection: ObjectRef, spec: object = {}): void {
    const email = accountOf(connection);
    const password = this.options.passwordIn(connection.namespace ?? OPERATOR_NAMESPACE);
    this.vault().setPassword(email, password);
    const isOfCluster = connection.namespace === undefined;
    const kind = isOfCluster ? clusterVaultConnectionKind : vaultConnectionKind;
    this.connection(connection, { email, refreshInterval: "5s", ...spec }, kind);
  }

  /** Creates or changes a VaultSecret; `data` names the secret of each key. */
  follow(
    data: Readonly<Record<string, string | Source>>,
    { namespace = SHOP, name = "db", connection = "vault", ...spec }: Followed = {},
  ): void {
    const entries = Object.entries(data).map(([secretKey, source]) => ({
      secretKey,
      remoteRef: typeof source === "string" ? { key: source } : source,
    }));
    const connectionRef = refTo(connection);
    this.put(vaultSecretKind, { namespace, name }, { connectionRef, data: entries, ...spec });
  }

  /** Creates or changes a VaultFile, whose target is a Secret. */
  followFiles(ref: ObjectRef, connection: ObjectRef, names: readonly string[]): void {
    const files = names.map((filename, n) => ({ filename, key: `key-${n}` }));
    const connectionRef = refTo(connection);
    this.put(vaultFileKind, ref, { connectionRef, files, target: { kind: "Secret" } });
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault has secrets of these names, and a
   * VaultSecret for each, whose target has these policies. The vault has the name of the namespace,
   * or `of`.
   */
  addVault(
    namespace: string,
    names: readonly string[],
    target: object = {},
    { of = namespace, ...spec }: { readonly of?: string; readonly refreshInterval?: string } = {},
  ): SimulatedVault {
    const vault = this.#connected(namespace, of, spec);
    vault.write(...names);
    for (const name of names) this.addSecret(namespace, name, target, name);
    return vault;
  }

  /**
   * Creates a VaultSecret in a namespace, whose target has these policies and the value of this
   * secret of the vault.
   */
  addSecret(namespace: string, name: string, target: object, key: string): void {
    const data = [{ secretKey: "value", remoteRef: { key } }];
    const connectionRef = { name: "vault" };
    this.put(
      vaultSecretKind,
      { namespace, name },
      { connectionRef, target: { name, ...target }, data },
    );
  }

  /**
   * Creates a namespace with a VaultConnection, whose vault holds its lists and has files of these
   * names, and a VaultFile for each, whose target is a ConfigMap with these policies.
   */
  addFileVault(namespace: string, names: readonly string[], policies: object): SimulatedVault {
    const vault = this.#connected(namespace, namespace);
    vault.holds = true;
    vault.latencyMs = 0;
    for (const name of names) {
      vault.upload(ACCOUNT, name, Buffer.from(name));
      const target = { kind: "ConfigMap", name, ...policies };
      const files = [{ filename: name, key: "value" }];
      const connectionRef = { name: "vault" };
      this.put(vaultFileKind, { namespace, name }, { connectionRef, target, files });
    }
    return vault;
  }

  /** Creates a namespace with the connection `vault` to a vault. */
  #connected(namespace: string, vault: string, spec: object = {}): SimulatedVault {
    this.namespace(namespace);
    const url = `https://${vault}.example.com`;
    this.connection({ namespace, name: "vault" }, { url, ...spec });
    return this.vault(vault);
  }

  /** Freezes the namespace of the shop for an hour. */
  freeze(): void {
    const until = new Date(this.clock.now() + 3_600_000).toISOString();
    const metadata = { annotations: { [FREEZE_ANNOTATION]: until } };
    this.server.patch(NAMESPACES, { name: SHOP }, { metadata });
  }

  /** Sets annotations of a VaultSecret. */
  annotate(annotations: Readonly<Record<string, string | null>>, name = "db"): void {
    this.server.patch(vaultSecretKind, { namespace: SHOP, name }, { metadata: { annotations } });
  }

  resource(name = "db", namespace = SHOP): KubeObject {
    return this.server.get(vaultSecretKind, { namespace, name });
  }

  /** Returns the status of a VaultSecret. */
  status(name = "db", namespace = SHOP): ReturnType<typeof readStatus> {
    return readStatus("VaultSecret", this.resource(name, namespace)["status"]);
  }

  target(name = "db", namespace = SHOP): Target | undefined {
    return this.server.find(SECRETS, { namespace, name });
  }

  /** Changes the values of a target, as a user does. */
  edit(values: Readonly<Record<string, string>>, name = "db"): void {
    const data = Object.entries(values).map(
      ([key, value]) => [key, Buffer.from(value).toString("base64")] as const,
    );
    this.server.patch(SECRETS, { namespace: SHOP, name }, { data: Object.fromEntries(data) });
  }

  deleteTarget(name = "db"): void {
    this.server.delete(SECRETS, { namespace: SHOP, name });
  }

  /** Returns the values of the target of a VaultSecret by key, and the reason of Ready. */
  outcome(name = "db", namespace = SHOP, kind: Kind = vaultSecretKind): string {
    const values = Object.entries(valuesOf(this.target(name, namespace)) ?? {});
    const text = values
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`);
    const reason = this.conditionOf(kind, { namespace, name })?.reason;
    return `${text.join(" ") || "absent"}, ${reason}`;
  }

  /** Returns the value of a target; `undefined` if there is none. */
  value(namespace: string, name: string): string | undefined {
    return valuesOf(this.target(name, namespace))?.["value"];
  }

  /** Returns a condition of a VaultSecret. */
  condition(type: string, name = "db", namespace = SHOP): Condition | undefined {
    return this.conditionOf(vaultSecretKind, { namespace, name }, type);
  }

  /** Returns a condition of the connection `vault` of a namespace. */
  connectionCondition(type: string, namespace = SHOP): Condition | undefined {
    return this.conditionOf(vaultConnectionKind, { namespace, name: "vault" }, type);
  }

  /**
   * Returns the requests about resources with a target, targets and workloads since the last call.
   */
  takeRequests(): string[] {
    return this.requests.splice(0).filter((request) => !OTHER_REQUESTS.test(request));
  }
}

/** Returns the account of a connection, and of no other one. */
export const accountOf = ({ namespace = "", name }: ObjectRef): string =>
  `${name}.in.${namespace}@example.com`;

/** Returns the password in the credentials Secret of a namespace. */
export const passwordIn = (namespace: string): string => `canary-password-${namespace}`;

/** Returns the reference to a connection: to a ClusterVaultConnection without a namespace. */
function refTo(connection: string | ObjectRef): object {
  if (typeof connection === "string") return { name: connection };
  const { namespace, name } = connection;
  return { ...(namespace === undefined && { kind: clusterVaultConnectionKind.kind }), name };
}

/** Starts an operator next to the Secret of a VaultPush that does not exist yet. */
export async function withPushSource(
  data: Readonly<Record<string, string>> = { password: "one" },
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.forPushes();
  scene.pushes.source(data);
  return scene;
}

/** Starts an operator that has pushed the value `one`. */
export async function pushed(changes: object = {}): Promise<SimulatedWorld> {
  const scene = await withPushSource();
  scene.pushes.put(changes);
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  scene.pushes.takeVaultRequests();
  return scene;
}
