import { connectionKindOf } from "../../api/connection-key.ts";
import type { Labels } from "../../api/namespace-selector.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import {
  accessOf,
  type AccessRule,
  accessRules,
  everything,
  type NamespaceAccess,
} from "../../sync/namespace-access.ts";
import { parseConnection } from "../../connection/parse-connection.ts";

export interface ClusterAccessOptions {
  /** The connections of both kinds. */
  readonly connections: Pick<ReadonlyStore<KubeObject>, "get">;
  /** The namespaces by name; `undefined` if the operator may not read them. */
  readonly namespaces: Pick<ReadonlyStore<{ readonly labels: Labels }>, "get"> | undefined;
}

interface Rules {
  readonly fingerprint: string;
  readonly entries: readonly AccessRule[];
}

/**
 * Decides which namespaces may read what through a connection: everything through a VaultConnection
 * of the same namespace, and what `spec.access` of a ClusterVaultConnection allows now. See
 * docs/design/security.md#cluster-connections.
 */
export class ClusterAccess {
  readonly #options: ClusterAccessOptions;
  readonly #rules = new WeakMap<KubeObject, Rules | undefined>();

  constructor(options: ClusterAccessOptions) {
    this.#options = options;
  }

  /** Reports whether resources can refer to a ClusterVaultConnection at all. */
  get isAvailable(): boolean {
    return this.#options.namespaces !== undefined;
  }

  /** Returns what a namespace may read through the connection with this key. */
  of(connection: string, namespace: string): NamespaceAccess {
    if (connectionKindOf(connection) === "VaultConnection") return everything;
    const rules = this.#rulesOf(connection);
    const labels = this.#options.namespaces?.get(namespace)?.labels;
    if (rules === undefined || labels === undefined) return "unknown";
    return accessOf(rules.entries, labels);
  }

  /**
   * Reports whether a client was opened for the current spec of a ClusterVaultConnection. The
   * access of a changed spec is not for the vault and the account of the one before.
   */
  isCurrent(connection: string, fingerprint: string): boolean {
    return (
      connectionKindOf(connection) === "VaultConnection" ||
      this.#rulesOf(connection)?.fingerprint === fingerprint
    );
  }

  #rulesOf(connection: string): Rules | undefined {
    const object = this.#options.connections.get(connection);
    if (object === undefined) return undefined;
    if (!this.#rules.has(object)) {
      const parsed = parseConnection(object);
      const rules = parsed.ok
        ? { fingerprint: parsed.fingerprint, entries: accessRules(parsed.access) }
        : undefined;
      this.#rules.set(object, rules);
    }
    return this.#rules.get(object);
  }
}
