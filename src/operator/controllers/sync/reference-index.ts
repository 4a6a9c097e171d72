/** Everything that one resource refers to. */
export interface References {
  /** Key of its connection, `namespace/name`. */
  readonly connection: string;
  /** Names of secrets or files in the vault. */
  readonly sources: readonly string[];
  /** `<kind>/<namespace>/<name>`. */
  readonly target: string;
}

/** Sets by name. Empty sets are removed. */
class Groups {
  readonly #members = new Map<string, Set<string>>();

  add(name: string, member: string): void {
    const members = this.#members.get(name);
    if (members) members.add(member);
    else this.#members.set(name, new Set([member]));
  }

  remove(name: string, member: string): void {
    const members = this.#members.get(name);
    members?.delete(member);
    if (members?.size === 0) this.#members.delete(name);
  }

  get(name: string): ReadonlySet<string> {
    return this.#members.get(name) ?? new Set();
  }
}

const sourceKey = (connection: string, source: string): string => `${connection}\n${source}`;

/**
 * Finds the resources that a change concerns: by connection, by the name of a source, and by target. Keys are `namespace/name`.
 */
export class ReferenceIndex {
  readonly #references = new Map<string, References>();
  readonly #byConnection = new Groups();
  readonly #bySource = new Groups();
  readonly #byTarget = new Groups();

  /** Replaces the references of a resource. */
  set(resource: string, references: References): void {
    this.remove(resource);
    this.#references.set(resource, references);
    this.#byConnection.add(references.connection, resource);
    this.#byTarget.add(references.target, resource);
    for (const source of references.sources) this.#bySource.add(sourceKey(references.connection, source), resource);
  }

  remove(resource: string): void {
    const references = this.#references.get(resource);
    if (references === undefined) return;
    this.#references.delete(resource);
    this.#byConnection.remove(references.connection, resource);
    this.#byTarget.remove(references.target, resource);
    for (const source of references.sources) this.#bySource.remove(sourceKey(references.connection, source), resource);
  }

  get(resource: string): References | undefined {
    return this.#references.get(resource);
  }

  ofConnection(connection: string): ReadonlySet<string> {
    return this.#byConnection.get(connection);
  }

  ofSource(connection: string, source: string): ReadonlySet<string> {
    return this.#bySource.get(sourceKey(connection, source));
  }

  ofTarget(target: string): ReadonlySet<string> {
    return this.#byTarget.get(target);
  }
}
