import { type Labels, selects } from "../selectors.ts";
import { CLUSTER_ACCOUNT, Violation } from "../world.ts";
import type { ConnectionSpec, KnownSpecs } from "./spec-history.ts";
import { isOfCluster, itemsOf, readsFiles, type Spec } from "./spec-items.ts";
import type { TargetWrite } from "./target-write.ts";

const matches = (glob: string, name: string): boolean =>
  new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(name);

/**
 * Reports whether an access allows a namespace with these labels to read all sources that a
 * resource names, and `entry`.
 */
export function isAllowed(
  kind: string,
  spec: Spec,
  { access = [] }: ConnectionSpec,
  labels: Labels,
  ...entry: readonly string[]
): boolean {
  const entries = access.filter(({ namespaceSelector }) => selects(namespaceSelector, labels));
  const globs = entries.flatMap(({ secrets, files }) => (readsFiles(kind) ? files : secrets));
  const named = itemsOf(spec).flatMap(({ absence, source }) =>
    absence === "found" ? [] : [source],
  );
  return (
    entries.length > 0 &&
    [...named, ...entry].every((source) => globs.some((glob) => matches(glob, source)))
  );
}

/**
 * Reports whether a replica may take a resource with this spec for one that may read its sources.
 */
function mayHaveAccess(
  history: KnownSpecs,
  namespace: string,
  kind: string,
  spec: Spec,
  ...entry: readonly string[]
): boolean {
  if (!isOfCluster(spec)) return true;
  const labels = history.recentLabels(namespace);
  return history
    .recentConnections(namespace, spec)
    .some((connection) => labels.some((of) => isAllowed(kind, spec, connection, of, ...entry)));
}

/**
 * A target is written only for a resource that may read its sources, if it refers to a connection
 * of the cluster (I12).
 */
export function checkAccess({
  history,
  name,
  namespace,
  after,
  owner,
  was,
  is,
  world,
}: TargetWrite): void {
  if (!after) return;
  const [kind = ""] = owner.split("/");
  const specs = history.recent(namespace, owner);
  if (specs.length > 0 && !specs.some((spec) => mayHaveAccess(history, namespace, kind, spec)))
    throw new Violation(
      "I12",
      `${name} was written, although ${owner} has no access to its connection`,
    );
  for (const [key, base64] of Object.entries(is)) {
    const isShared = world.vaults.origin(base64)?.owner === CLUSTER_ACCOUNT;
    if (!isShared || was[key] === base64) continue;
    if (!specs.some(isOfCluster))
      throw new Violation("I12", `${name}: key ${key} has bytes of the account of the cluster`);
  }
}

/** The account of the cluster reads only what a resource with access refers to (I12). */
export function checkRead(history: KnownSpecs, user: string, entry: string): void {
  const isReferenced = history
    .resources()
    .some(({ namespace, kind, specs }) =>
      specs.some(
        (spec) =>
          isOfCluster(spec) &&
          itemsOf(spec).some(({ source }) => source === entry) &&
          mayHaveAccess(history, namespace, kind, spec, entry),
      ),
    );
  if (!isReferenced)
    throw new Violation(
      "I12",
      `${user} read ${entry} as ${CLUSTER_ACCOUNT} for no resource with access`,
    );
}
