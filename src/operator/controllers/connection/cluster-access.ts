import { connectionKindOf } from "../../api/connection-key.ts";
import { isSelected, type Labels, type NamespaceSelector } from "../../api/namespace-selector.ts";
import { globMatcher } from "../../../lib/glob.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { EntryKind } from "../../vault-client/connection.ts";
import { type AccessEntry, parseConnection } from "./parse-connection.ts";

/** Reports whether a namespace may read an entry of the vault. */
type Grant = (kind: EntryKind, name: string) => boolean;

/**
 * The names that a namespace may read through a connection. `none`: no entry of its access selects the namespace. `unknown`: the watches do not
 * show the namespace, or the spec is invalid, so that nothing may be read, nor reported as lost.
 */
export type NamespaceAccess = Grant | "none" | "unknown";

export interface ClusterAccessOptions {
  /** The connections of both kinds. */
  readonly connections: Pick<ReadonlyStore<KubeObject>, "get">;
  /** Labels of the namespaces by name; `undefined` if the operator may not read them. */
  readonly namespaces: Pick<ReadonlyStore<Labels>, "get"> | undefined;
}

interface Rule {
  readonly selector: NamespaceSelector;
  readonly names: Readonly<Record<EntryKind, readonly ((name: string) => boolean)[]>>;
}

interface Rules {
  readonly fingerprint: string;
  readonly entries: readonly Rule[];
}

const everything: Grant = () => true;

/**
 * Decides which namespaces may read what through a connection: everything through a VaultConnection, which is in the same namespace,
 * and what `spec.access` of a ClusterVaultConnection allows now. See docs/design/security.md#cluster-connections.
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
    const labels = this.#options.namespaces?.get(namespace);
    if (rules === undefined || labels === undefined) return "unknown";
    const entries = rules.entries.filter(({ selector }) => isSelected(selector, labels));
    if (entries.length === 0) return "none";
    return (kind, name) => entries.some(({ names }) => names[kind].some((matches) => matches(name)));
  }

  /**
   * Reports whether a client was opened for the current spec of a ClusterVaultConnection. The access of a changed spec is not for the
   * vault and the account of the one before.
   */
  isCurrent(connection: string, fingerprint: string): boolean {
    return connectionKindOf(connection) === "VaultConnection" || this.#rulesOf(connection)?.fingerprint === fingerprint;
  }

  #rulesOf(connection: string): Rules | undefined {
    const object = this.#options.connections.get(connection);
    if (object === undefined) return undefined;
    if (!this.#rules.has(object)) {
      const parsed = parseConnection(object);
      const rules = parsed.ok ? { fingerprint: parsed.fingerprint, entries: parsed.access.map(ruleOf) } : undefined;
      this.#rules.set(object, rules);
    }
    return this.#rules.get(object);
  }
}

const ruleOf = ({ namespaceSelector, secrets = [], files = [] }: AccessEntry): Rule => ({
  selector: namespaceSelector,
  names: { secret: secrets.map(globMatcher), file: files.map(globMatcher) },
});
