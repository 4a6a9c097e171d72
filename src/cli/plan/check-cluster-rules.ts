import { type Manifest, type Problem, problemAt } from "../manifests/manifests.ts";
import { keyOfConnection, keyOfReference, type Plan } from "./planned-resource.ts";

const placeOf = ({ file, lineOf }: Manifest): string => `${file}:${lineOf("metadata", "name")}`;

/** Returns a problem for each manifest whose key an earlier one has. */
function repeated(
  manifests: Iterable<readonly [key: string, manifest: Manifest, path: readonly PropertyKey[]]>,
  message: (first: string) => string,
): Problem[] {
  const seen = new Map<string, Manifest>();
  const problems: Problem[] = [];
  for (const [key, manifest, path] of manifests) {
    const first = seen.get(key);
    if (first === undefined) seen.set(key, manifest);
    else problems.push(problemAt(manifest, path, message(placeOf(first))));
  }
  return problems;
}

/** Returns what would fail in the cluster for reasons that several manifests show together. */
export function checkClusterRules(manifests: readonly Manifest[], { connections, resources }: Plan): Problem[] {
  const objects = manifests.map((one) => [`${one.kind}/${one.namespace}/${one.name}`, one, ["metadata", "name"]] as const);
  const owned = resources.filter(({ target }) => !target.isMerged);
  const targets = owned.map(
    ({ manifest, target }) =>
      [`${target.kind}/${manifest.namespace}/${target.name}`, manifest, ["spec", "target", "name"]] as const,
  );
  const known = new Set(connections.map(keyOfConnection));
  // The administrator of the cluster creates a ClusterVaultConnection, from other files.
  const own = resources.filter(({ connection }) => connection.kind === "VaultConnection");
  const unconnected = own.filter((resource) => !known.has(keyOfReference(resource)));
  return [
    ...repeated(objects, (first) => `metadata.name: ${first} has an object of this kind, namespace and name`),
    ...repeated(targets, (first) => `spec.target.name: the resource at ${first} has this target: choose another name`),
    ...unconnected.map(({ manifest, connection }) => {
      const message = `no VaultConnection ${connection.name} in namespace ${manifest.namespace} in these files`;
      return problemAt(manifest, ["spec", "connectionRef", "name"], `spec.connectionRef.name: ${message}`);
    }),
  ];
}
