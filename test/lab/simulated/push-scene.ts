import { vaultFileKind, vaultPushKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import type { Condition } from "../../../src/operator/api/status.ts";
import type { OperatorFlags } from "../../../src/operator/config.ts";
import { readPushStatus } from "../../../src/operator/push/push-status.ts";
import { type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { ACCOUNT, PASSWORD } from "./simulated-vault.ts";
import { SimulatedWorld } from "./simulated-world.ts";

export const OTHER = "ann@example.com";
export const NAMESPACE = "shop";

type Data = Readonly<Record<string, string | Uint8Array>>;

const encoded = (data: Data): Record<string, string> =>
  Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );

/** A world with one vault, for VaultPushes in the namespace `shop`. */
export class PushScene extends SimulatedWorld {
  /** Starts an operator. The namespace has the connection `vault`. */
  static async run(flags?: OperatorFlags): Promise<PushScene> {
    // Longer than the interval of all checks.
    const scene = new PushScene({ apiLatencyMs: 0, settleMs: 30_000 });
    scene.vault().latencyMs = 0;
    scene.vault().setPassword(OTHER, PASSWORD);
    scene.connected(NAMESPACE);
    scene.start(flags);
    await scene.settle();
    return scene;
  }

  /** Creates a namespace with a connection. */
  connected(namespace: string): void {
    this.namespace(namespace);
    this.connect("vault", {}, namespace);
  }

  /** Creates or changes a connection. */
  override connect(name: string, changes: object = {}, namespace = NAMESPACE): void {
    this.connection({ namespace, name }, { refreshInterval: "10s", ...changes });
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
    this.put(vaultPushKind, { namespace, name }, spec);
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
      { namespace: NAMESPACE, name: "reader" },
      { ...spec, ...changes },
    );
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

  pushResource(name = "push", namespace = NAMESPACE): KubeObject {
    return this.server.get(vaultPushKind, { namespace, name });
  }

  exists(name = "push"): boolean {
    return this.server.find(vaultPushKind, { namespace: NAMESPACE, name }) !== undefined;
  }

  delete(name = "push"): void {
    this.server.delete(vaultPushKind, { namespace: NAMESPACE, name });
  }

  pushStatus(name = "push", namespace = NAMESPACE): ReturnType<typeof readPushStatus> {
    return readPushStatus(this.pushResource(name, namespace)["status"]);
  }

  pushCondition(type = "Ready", name = "push", namespace = NAMESPACE): Condition | undefined {
    return this.conditionOf(vaultPushKind, { namespace, name }, type);
  }

  reason(name = "push", namespace = NAMESPACE): string | undefined {
    return this.pushCondition("Ready", name, namespace)?.reason;
  }

  /**
   * Returns the values of all versions of a secret or file in the vault, in order; gaps are empty.
   */
  versions(name = "db", kind: "secret" | "file" = "secret", owner = ACCOUNT): string[] {
    const values = Array.from({ length: 20 }, (_, at) =>
      this.vault().bytesOf(kind, owner, name, at + 1),
    );
    const last = values.findLastIndex((bytes) => bytes !== undefined);
    return values.slice(0, last + 1).map((bytes) => Buffer.from(bytes ?? []).toString());
  }

  /** Reasons of the recorded events about VaultPushes. */
  get notes(): string[] {
    return this.events.map(({ reason, note }) => `${reason}: ${note}`);
  }

  /** Returns the requests to the vault since the last call, without logins. */
  takeVaultRequests(): string[] {
    return this.vault()
      .calls.splice(0)
      .map(({ operation }) => operation)
      .filter((operation) => operation !== "generate_access_token");
  }

  /** Replaces the operator and ends all faults. */
  override async restart(between?: () => void): Promise<void> {
    await super.restart(() => {
      this.network = {};
      this.vault().network = {};
      between?.();
    });
    await this.settle();
  }
}
