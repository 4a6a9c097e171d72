import { matchesName } from "../../sync/find-items.ts";
import { isMerged } from "../../sync/sync-resource.ts";
import { type Manifest, type Problem, problemAt } from "../manifests.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  type Plan,
  type PlannedPush,
  type PlannedResource,
} from "./planned-resource.ts";

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

/** Reports whether a resource names an entry, `secret/<name>` or `file/<name>`, or may find it. */
function readsEntry({ resource: { kind, items, finds } }: PlannedResource, entry: string): boolean {
  const prefix = kind === "VaultSecret" ? "secret/" : "file/";
  if (!entry.startsWith(prefix)) return false;
  const name = entry.slice(prefix.length);
  return (
    finds.some((find) => matchesName(find, name)) || items.some(({ source }) => source === name)
  );
}

/**
 * Returns the conflicts of VaultPushes with each other, and with resources that read the entry into
 * the same Secret.
 */
function checkPushes({ connections, resources, pushes }: Plan): Problem[] {
  const vaultOf = (resource: PlannedPush | PlannedResource): string | undefined =>
    connections.find((connection) => keyOfConnection(connection) === keyOfReference(resource))?.spec
      .url;
  const entries = pushes.flatMap((push) => {
    const account = connections.find(({ spec }) => spec.url === vaultOf(push))?.spec.email;
    return push.items.map(
      ({ entry, path }) => [`${vaultOf(push)} ${account} ${entry}`, push.manifest, path] as const,
    );
  });
  const loops = pushes.flatMap((push) =>
    push.items.flatMap(({ entry, path }) => {
      const reader = resources.find(
        (one) =>
          one.manifest.namespace === push.manifest.namespace &&
          one.resource.target.kind === "Secret" &&
          one.resource.target.name === push.secret &&
          vaultOf(one) === vaultOf(push) &&
          readsEntry(one, entry),
      );
      if (reader === undefined) return [];
      const message = `the resource at ${placeOf(reader.manifest)} reads ${entry} into the Secret ${push.secret}, which is pushed to it`;
      return [problemAt(push.manifest, path, message)];
    }),
  );
  return [
    ...repeated(
      entries,
      (first) => `the VaultPush at ${first} pushes to this entry: choose another one`,
    ),
    ...loops,
  ];
}

/** Returns what would fail in the cluster for reasons that several manifests show together. */
export function checkClusterRules(manifests: readonly Manifest[], plan: Plan): Problem[] {
  const { connections, resources, pushes } = plan;
  const objects = manifests.map(
    (one) => [`${one.kind}/${one.namespace}/${one.name}`, one, ["metadata", "name"]] as const,
  );
  const owned = resources.filter(({ resource }) => !isMerged(resource));
  const targets = owned.map(
    ({ manifest, resource: { target } }) =>
      [
        `${target.kind}/${manifest.namespace}/${target.name}`,
        manifest,
        ["spec", "target", "name"],
      ] as const,
  );
  const known = new Set(connections.map(keyOfConnection));
  // The administrator of the cluster creates a ClusterVaultConnection, from other files.
  const own = [...resources, ...pushes].filter(
    (one) => connectionOf(one).kind === "VaultConnection",
  );
  const unconnected = own.filter((resource) => !known.has(keyOfReference(resource)));
  return [
    ...repeated(
      objects,
      (first) => `metadata.name: ${first} has an object of this kind, namespace and name`,
    ),
    ...repeated(
      targets,
      (first) => `spec.target.name: the resource at ${first} has this target: choose another name`,
    ),
    ...checkPushes(plan),
    ...unconnected.map((one) => {
      const { manifest } = one;
      const message = `no VaultConnection ${connectionOf(one).name} in namespace ${manifest.namespace} in these files`;
      return problemAt(
        manifest,
        ["spec", "connectionRef", "name"],
        `spec.connectionRef.name: ${message}`,
      );
    }),
  ];
}
