import { fileSource } from "../controllers/sync/file-source.ts";
import { secretSource } from "../controllers/sync/secret-source.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { References } from "../vault-client/connection.ts";

/** Returns the names that VaultSecrets and VaultFiles refer to through one connection. */
export function referencesOf(connection: KubeObject, secrets: readonly KubeObject[], files: readonly KubeObject[]): References {
  const { namespace, name } = connection.metadata;
  const namesOf = (source: typeof fileSource, objects: readonly KubeObject[]): Set<string> =>
    new Set(
      objects
        .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
        .map((object) => source.parse(object))
        .filter(({ ok, resource }) => ok && resource.connection.kind === connection.kind && resource.connection.name === name)
        .flatMap(({ resource }) => resource.items.map((item) => item.source)),
    );
  return { secrets: namesOf(secretSource(), secrets), files: namesOf(fileSource, files) };
}
