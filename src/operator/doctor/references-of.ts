import { fileSource } from "../controllers/sync/file-source.ts";
import { secretSource } from "../controllers/sync/secret-source.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { References } from "../vault-client/connection.ts";

/** The names that resources refer to through one connection. */
export interface NamedReferences extends References {
  /** The references to secrets, each with the owner that it names. */
  readonly items: readonly NamedItem[];
}

interface NamedItem {
  readonly source: string;
  readonly owner: string | undefined;
}

const namesIn = (items: readonly NamedItem[]): Set<string> =>
  new Set(items.map(({ source }) => source));

/** Returns the names that VaultSecrets and VaultFiles refer to through one connection. */
export function referencesOf(
  connection: KubeObject,
  secrets: readonly KubeObject[],
  files: readonly KubeObject[],
): NamedReferences {
  const { namespace, name } = connection.metadata;
  const itemsOf = (
    source: typeof fileSource,
    objects: readonly KubeObject[],
  ): readonly NamedItem[] =>
    objects
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .map((object) => source.parse(object))
      .filter(
        ({ ok, resource }) =>
          ok && resource.connection.kind === connection.kind && resource.connection.name === name,
      )
      .flatMap(({ resource }) => resource.items);
  const items = itemsOf(secretSource(), secrets);
  return { secrets: namesIn(items), files: namesIn(itemsOf(fileSource, files)), items };
}
