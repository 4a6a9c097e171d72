import { vaultFileKind, vaultPushKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import { type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { ACCOUNT } from "./simulated-vault.ts";
import type { SimulatedOperator } from "./simulated-operator.ts";

export const NAMESPACE = "shop";

type Data = Readonly<Record<string, string | Uint8Array>>;

const encoded = (data: Data): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );

/** The VaultPushes of a world, in the namespace `shop`, and their only vault. */
export class Pushes {
  readonly #world: SimulatedOperator;

  constructor(world: SimulatedOperator) {
    this.#world = world;
  }

  /** Creates a namespace with a connection. */
  connected(namespace: string): void {
    this.#world.namespace(namespace);
    this.connect("vault", {}, namespace);
  }

  /** Creates or changes a connection. */
  connect(name: string, changes: object = {}, namespace = NAMESPACE): void {
    this.#world.connection({ namespace, name }, { refreshInterval: "10s", ...changes });
  }

  /**
   * Creates or changes the VaultPush `name` of the Secret `source`. By default its key `password`
   * is pushed to the secret `db`.
   */
  put(changes: object = {}, name = "push", namespace = NAMESPACE): void {
    const data = [{ secretKey: "password", remoteRef: { key: "db" } }];
    const spec = {
      connectionRef: { name: "vault" },
      secret: { name: "source" },
      data,
      refreshInterval: "10s",
      ...changes,
    };
    this.#world.put(vaultPushKind, { namespace, name }, spec);
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
    this.#world.put(
      kind === "VaultSecret" ? vaultSecretKind : vaultFileKind,
      { namespace: NAMESPACE, name: "reader" },
      { ...spec, ...changes },
    );
  }

  /** Creates or replaces the Secret `source`, as a user does. */
  source(data: Data, { type = "Opaque", namespace = NAMESPACE } = {}): void {
    const ref = { namespace, name: "source" };
    const before = this.#world.server.find(SECRETS, ref);
    const content = { type, data: encoded(data) };
    if (before === undefined)
      this.#world.server.create(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: ref,
        ...content,
      });
    else this.#world.server.replace(SECRETS, { ...before, ...content });
  }

  resource(name = "push", namespace = NAMESPACE): KubeObject {
    return this.#world.server.get(vaultPushKind, { namespace, name });
  }

  exists(name = "push"): boolean {
    return this.#world.server.find(vaultPushKind, { namespace: NAMESPACE, name }) !== undefined;
  }

  delete(name = "push"): void {
    this.#world.server.delete(vaultPushKind, { namespace: NAMESPACE, name });
  }

  status(name = "push", namespace = NAMESPACE): ReturnType<typeof readPushStatus> {
    return readPushStatus(this.resource(name, namespace)["status"]);
  }

  condition(type = "Ready", name = "push", namespace = NAMESPACE): Condition | undefined {
    return this.#world.conditionOf(vaultPushKind, { namespace, name }, type);
  }

  reason(name = "push", namespace = NAMESPACE): string | undefined {
    return this.condition("Ready", name, namespace)?.reason;
  }

  /**
   * Returns the values of all versions of a secret or file in the vault, in order; gaps are empty.
   */
  versions(name = "db", kind: "secret" | "file" = "secret", owner = ACCOUNT): string[] {
    const values = Array.from({ length: 20 }, (_, at) =>
      this.#world.vault().bytesOf(kind, owner, name, at + 1),
    );
    const last = values.findLastIndex((bytes) => bytes !== undefined);
    return values.slice(0, last + 1).map((bytes) => Buffer.from(bytes ?? []).toString());
  }

  /** Reasons of the recorded events about VaultPushes. */
  get notes(): string[] {
    return this.#world.events.map(({ reason, note }) => `${reason}: ${note}`);
  }

  /** Returns the requests to the vault since the last call, without logins. */
  takeVaultRequests(): string[] {
    return this.#world
      .vault()
      .calls.splice(0)
      .map(({ operation }) => operation)
      .filter((operation) => operation !== "generate_access_token");
  }

  /** Like `takeVaultRequests`, but only the requests that store or delete. */
  takeVaultWrites(): string[] {
    return this.takeVaultRequests().filter((one) => /^(protect|delete)/.test(one));
  }

  /** Replaces the operator by one that remembers nothing, and ends all faults. */
  async restart(between: () => void = () => undefined): Promise<void> {
    await this.#world.restart(() => {
      this.#world.network = {};
      this.#world.vault().network = {};
      between();
    });
    await this.#world.settle();
  }
}
