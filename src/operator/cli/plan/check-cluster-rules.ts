import { matchesName } from "../../sync/find-items.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { isMerged } from "../../sync/sync-resource.ts";
import { isObject } from "../../../lib/is-object.ts";
import { ADOPT_ANNOTATION } from "../../api/names.ts";
import { type CoreObject, fieldProblem, type Problem, problemAt } from "../manifests/manifest.ts";
import type { Manifests } from "../manifests/read-manifests.ts";
import {
  connectionOf,
  keyOfConnection,
  keyOfReference,
  type Plan,
  type PlannedPush,
  type PlannedResource,
} from "./planned-resource.ts";

const placeOf = ({ file, lineOf }: CoreObject): string => `${file}:${lineOf("metadata", "name")}`;

/** Returns a problem for each manifest whose key an earlier one has. */
function repeated(
  manifests: Iterable<readonly [key: string, manifest: CoreObject, path: readonly PropertyKey[]]>,
  message: (first: string) => string,
): Problem[] {
  const seen = new Map<string, CoreObject>();
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
  const prefix = `${entriesOf(kind)}/`;
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

/** Returns the name of an object with its kind and namespace. */
const idOf = (kind: string, namespace: string, name: string): string =>
  `${kind}/${namespace}/${name}`;

/** Reports whether the owner of an object hands it over to a resource. */
const isHandedOver = ({ metadata: { annotations } }: CoreObject): boolean =>
  isObject(annotations) && annotations[ADOPT_ANNOTATION] !== undefined;

/** Returns the targets that another object of the files is as well. */
function checkWriters(coreObjects: readonly CoreObject[], owned: Plan["resources"]): Problem[] {
  const written = new Map(
    coreObjects
      .filter((object) => !isHandedOver(object))
      .map((object) => [idOf(object.kind, object.namespace, object.name), object]),
  );
  return owned.flatMap(({ manifest, resource: { target } }) => {
    const object = written.get(idOf(target.kind, manifest.namespace, target.name));
    if (object === undefined) return [];
    const message = `the ${target.kind} at ${placeOf(object)} has the name of the target: remove it from the files, or choose another name`;
    return [fieldProblem(manifest, ["spec", "target", "name"], message)];
  });
}

/** Returns the resources whose connection is neither in the files nor known otherwise. */
function checkConnections({ declared, resources, pushes }: Plan, where: string): Problem[] {
  // The administrator of the cluster creates a ClusterVaultConnection, from other files.
  const own = [...resources, ...pushes].filter(
    (one) => connectionOf(one).kind === "VaultConnection",
  );
  return own
    .filter((resource) => !declared.has(keyOfReference(resource)))
    .map((one) => {
      const message = `no VaultConnection ${connectionOf(one).name} in namespace ${one.manifest.namespace} ${where}`;
      return fieldProblem(one.manifest, ["spec", "connectionRef", "name"], message);
    });
}

/**
 * Returns what would fail in the cluster for reasons that several manifests show together.
 * @param where where the connections of the plan are, for messages
 */
export function checkClusterRules(
  { manifests, coreObjects }: Manifests,
  plan: Plan,
  where = "in these files",
): Problem[] {
  const objects = manifests.map(
    (one) => [idOf(one.kind, one.namespace, one.name), one, ["metadata", "name"]] as const,
  );
  const owned = plan.resources.filter(({ resource }) => !isMerged(resource));
  const targets = owned.map(
    ({ manifest, resource: { target } }) =>
      [
        idOf(target.kind, manifest.namespace, target.name),
        manifest,
        ["spec", "target", "name"],
      ] as const,
  );
  return [
    ...repeated(
      objects,
      (first) => `metadata.name: ${first} has an object of this kind, namespace and name`,
    ),
    ...repeated(
      targets,
      (first) => `spec.target.name: the resource at ${first} has this target: choose another name`,
    ),
    ...checkWriters(coreObjects, owned),
    ...checkPushes(plan),
    ...checkConnections(plan, where),
  ];
}
