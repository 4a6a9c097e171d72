import {
  clusterVaultConnectionKind,
  type Kind,
  vaultConnectionKind,
  vaultFileKind,
} from "../../../src/operator/api/kinds.ts";
import type { ConnectionStatus } from "../../../src/operator/api/vault-connection.ts";
import { NAMESPACES, type ObjectRef } from "../../../src/operator/kube/resource.ts";
import type { VaultCall } from "./simulated-vault.ts";
import { OPERATOR_NAMESPACE } from "./simulated-operator.ts";
import { refTo, SimulatedWorld } from "./simulated-world.ts";

/** One connection of a scene: cluster-scoped without a namespace. */
export type SceneConnection = ObjectRef;

/** Returns the account of a connection, and of no other one. */
export const accountOf = ({ namespace = "", name }: SceneConnection): string =>
  `${name}.in.${namespace}@example.com`;

/** Returns the password in the credentials Secret of a namespace. */
export const passwordIn = (namespace: string): string => `canary-password-${namespace}`;

/**
 * A world with one vault for all namespaces. Each connection has its own account, and each namespace
 * its own password; a secret has the value `<account> <name> <number>`.
 */
export class ClusterScene extends SimulatedWorld {
  #written = 0;

  constructor() {
    super({ passwordIn });
    this.vault().latencyMs = 0;
    this.vault().holds = true;
    this.login(OPERATOR_NAMESPACE);
  }

  /** Requests that the vault received. */
  get calls(): VaultCall[] {
    return this.vault().calls;
  }

  /** Replaces the labels of a namespace. */
  label(name: string, labels: Readonly<Record<string, string>>): void {
    const namespace = this.server.get(NAMESPACES, { name });
    this.server.replace(NAMESPACES, { ...namespace, metadata: { ...namespace.metadata, labels } });
  }

  /** Creates or changes a connection, and its account with the password of its namespace. */
  connectAccount(connection: SceneConnection, spec: object = {}): void {
    const email = accountOf(connection);
    this.vault().setPassword(email, passwordIn(connection.namespace ?? OPERATOR_NAMESPACE));
    const isOfCluster = connection.namespace === undefined;
    const kind = isOfCluster ? clusterVaultConnectionKind : vaultConnectionKind;
    this.connection(connection, { email, refreshInterval: "5s", ...spec }, kind);
  }

  /** Creates or changes a VaultFile, whose target is a Secret. */
  followFiles(
    ref: Required<SceneConnection>,
    connection: SceneConnection,
    names: readonly string[],
  ): void {
    const files = names.map((filename, n) => ({ filename, key: `key-${n}` }));
    this.put(vaultFileKind, ref, {
      connectionRef: refTo(connection),
      files,
      target: { kind: "Secret" },
    });
  }

  /** Writes a new version of secrets of an account, or creates them. */
  write(connection: SceneConnection, names: readonly string[], more: object = {}): void {
    for (const name of names) this.writeAs(accountOf(connection), name, more);
  }

  writeAs(email: string, key_name: string, more: object = {}): void {
    this.#written += 1;
    this.vault().act(email, "protect", {
      key_name,
      key_value: `${email} ${key_name} ${this.#written}`,
      ...more,
    });
  }

  connectionStatus(kind: Kind, ref: ObjectRef): Partial<ConnectionStatus> {
    return this.server.get(kind, ref)["status"] ?? {};
  }

  /** Returns the names that were read since the last call, each with the account. */
  takeReads(): string[] {
    const reads = this.calls.splice(0).filter(({ name }) => name !== undefined);
    return reads.map(({ account, name }) => `${account} ${name}`);
  }
}
