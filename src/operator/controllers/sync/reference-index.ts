import { GroupIndex, type GroupNames, Groups } from "../../lib/groups.ts";
import type { Find } from "../../sync/sync-resource.ts";
import { isPattern, matchesPattern } from "../../vault-client/pattern.ts";
import { entriesOf, type SyncKind } from "../../sync/sync-key.ts";
import type { EntryKind } from "../../vault-client/connection.ts";

/** Everything that one resource refers to. */
export interface References {
  readonly kind: SyncKind;
  /** Key of its connection; see `connectionKey`. */
  readonly connection: string;
  /** Names in the vault, and patterns of names, of the kind of entries that the resource reads. */
  readonly sources: readonly string[];
  /** The rules that request metadata, if there are any. */
  readonly rules?: readonly Find[];
  /** `<kind>/<namespace>/<name>`. */
  readonly target: string;
  /** Equal while the same becomes of keys whose sources are gone. */
  readonly whenGone: string;
  /** Its reconcile changes nothing before its connection has a list. */
  readonly needsList: boolean;
}

const ofKind = (connection: string, kind: EntryKind): string => `${connection}\n${kind}`;
const sourceKey = (connection: string, kind: EntryKind, source: string): string =>
  `${ofKind(connection, kind)}\n${source}`;

const namesOf = ({
  kind,
  connection,
  sources,
  target,
}: References): GroupNames<"connection" | "source" | "target"> => [
  ["connection", connection],
  ["target", target],
  ...sources.map((source) => ["source", sourceKey(connection, entriesOf(kind), source)] as const),
];

/** Returns the names that a resource refers to now, and did not before: also not by a pattern. */
export function joinedNames(before: References | undefined, now: References): string[] {
  const sources = before?.connection === now.connection ? before.sources : [];
  const known = new Set(sources);
  const patterns = sources.filter(isPattern);
  return now.sources.filter(
    (source) =>
      !isPattern(source) &&
      !known.has(source) &&
      !patterns.some((pattern) => matchesPattern(pattern, source)),
  );
}

/**
 * Finds the resources that a change concerns: by connection, by the name of a source, and by
 * target. Keys are queue keys.
 */
export class ReferenceIndex {
  readonly #references = new Map<string, References>();
  readonly #index = new GroupIndex<"connection" | "source" | "target">();
  /** Names of sources by connection and kind. */
  readonly #sources = new Groups();
  /**
   * The patterns among the sources: a change of one name is not compared with thousands of names.
   */
  readonly #patterns = new Groups();

  /** Replaces the references of a resource. */
  set(resource: string, references: References): void {
    this.remove(resource);
    const { connection } = references;
    const kind = entriesOf(references.kind);
    this.#references.set(resource, references);
    this.#index.replace(resource, [], namesOf(references));
    for (const source of references.sources) {
      this.#sources.add(ofKind(connection, kind), source);
      if (isPattern(source)) this.#patterns.add(ofKind(connection, kind), source);
    }
  }

  remove(resource: string): void {
    const references = this.#references.get(resource);
    if (references === undefined) return;
    const { connection } = references;
    const kind = entriesOf(references.kind);
    this.#references.delete(resource);
    this.#index.replace(resource, namesOf(references), []);
    for (const source of references.sources) {
      if (this.ofSource(connection, kind, source).size > 0) continue;
      this.#sources.remove(ofKind(connection, kind), source);
      this.#patterns.remove(ofKind(connection, kind), source);
    }
  }

  get(resource: string): References | undefined {
    return this.#references.get(resource);
  }

  ofConnection(connection: string): ReadonlySet<string> {
    return this.#index.get("connection", connection);
  }

  ofSource(connection: string, kind: EntryKind, source: string): ReadonlySet<string> {
    return this.#index.get("source", sourceKey(connection, kind, source));
  }

  /** Returns the resources that refer to a name, by itself or by a pattern. */
  ofName(connection: string, kind: EntryKind, name: string): ReadonlySet<string> {
    const patterns = [...this.#patterns.get(ofKind(connection, kind))].filter((pattern) =>
      matchesPattern(pattern, name),
    );
    const named = this.ofSource(connection, kind, name);
    if (patterns.length === 0) return named;
    return new Set([
      ...named,
      ...patterns.flatMap((pattern) => [...this.ofSource(connection, kind, pattern)]),
    ]);
  }

  ofTarget(target: string): ReadonlySet<string> {
    return this.#index.get("target", target);
  }

  /** Returns the names and patterns of one kind of entries that resources refer to. */
  sourcesOf(connection: string, kind: EntryKind): ReadonlySet<string> {
    return this.#sources.get(ofKind(connection, kind));
  }
}
