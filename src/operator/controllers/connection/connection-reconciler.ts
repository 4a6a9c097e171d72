import { explainProblems } from "../../api/validation.ts";
import { vaultConnectionKind } from "../../api/kinds.ts";
import { connectionSpec, type ConnectionSpec, connectionStatus } from "../../api/vault-connection.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { connectionId, vaultId } from "../../sync/target.ts";
import type { Connection, References } from "../../vault-client/connection.ts";
import { StatusWriter } from "../status/status-writer.ts";
import { readPassword } from "./read-password.ts";
import type { ConnectionCallbacks, ConnectionRegistry } from "./connection-registry.ts";
import { type ConnectionSettings, settingsOf } from "./connection-settings.ts";
import { nextConnectionStatus } from "./connection-status.ts";

/** Opens the client of one vault. Implemented by the composition root. */
export type ConnectionFactory = (
  settings: ConnectionSettings,
  password: () => Promise<Redacted<string>>,
  callbacks: ConnectionCallbacks,
  key: string,
) => Connection;

export interface ConnectionReconcilerOptions {
  readonly resources: ReadonlyStore<KubeObject>;
  readonly connections: ConnectionRegistry;
  readonly connectionFactory: ConnectionFactory;
  /** Returns the number of resources that refer to a connection. */
  readonly usersOf: (key: string) => number;
  /** Returns the names that these resources refer to. */
  readonly referencesOf: (key: string) => References;
  readonly api: KubeApi;
  readonly clock: Clock;
  /** Aborted when the operator shuts down. */
  readonly signal: AbortSignal;
}

/** Keeps one client open for each VaultConnection, according to its spec, and writes its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #statuses: StatusWriter;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    this.#statuses = new StatusWriter(options.api, vaultConnectionKind, options.clock);
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { resources, connections, referencesOf } = this.#options;
    const object = resources.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      this.#statuses.forget(key);
      await connections.close(key);
      return { outcome: "done" };
    }
    const parsed = connectionSpec.safeParse(object.spec);
    if (parsed.success) await this.#ensure(key, object, parsed.data);
    else await connections.markInvalid(key, explainProblems(parsed.error));
    connections.client(key)?.setReferences(referencesOf(key));
    await this.#writeStatus(key, object, signal);
    return { outcome: "done" };
  }

  /** Makes the connections whose password is in this Secret log in again. */
  credentialsChanged(secret: string): void {
    for (const [key, object] of this.#options.resources.entries()) {
      const parsed = connectionSpec.safeParse(object.spec);
      const name = parsed.data?.auth.passwordSecretRef?.name;
      if (name === undefined || `${object.metadata.namespace}/${name}` !== secret) continue;
      this.#options.connections.client(key)?.credentialsChanged();
    }
  }

  async #ensure(key: string, object: KubeObject, spec: ConnectionSpec): Promise<void> {
    const { connections, connectionFactory, api, signal } = this.#options;
    const settings = settingsOf(spec);
    const vault = vaultId(settings.url, spec.email);
    const wanted = {
      // Includes the uid: a connection that was recreated under the same name is another one.
      fingerprint: JSON.stringify([object.metadata.uid, spec]),
      id: connectionId(object.metadata.uid ?? "", vault, spec.scope),
      vault,
      account: spec.email,
      intervalMs: settings.refreshIntervalMs,
    };
    const namespace = object.metadata.namespace ?? "";
    const password = (): Promise<Redacted<string>> => readPassword(api, namespace, spec, signal);
    await connections.open(key, wanted, (callbacks) => connectionFactory(settings, password, callbacks, key));
  }

  async #writeStatus(key: string, object: KubeObject, signal: AbortSignal): Promise<void> {
    const { clock, connections, usersOf } = this.#options;
    const state = connections.get(key);
    if (state.state === "absent" || state.state === "opening") return;
    const before = connectionStatus.safeParse(this.#statuses.current(key, object) ?? {}).data ?? {};
    const facts = { generation: object.metadata.generation ?? 0, users: usersOf(key), now: clock.now() };
    await this.#statuses.write(key, object, nextConnectionStatus(before, state, facts), signal);
  }
}
