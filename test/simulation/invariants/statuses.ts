import { findCondition } from "../../../src/operator/api/conditions.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { Violation, type World } from "../world.ts";
import { itemsOf, type Spec } from "./spec-history.ts";
import { contentOf } from "./target-write.ts";

interface ItemStatus {
  readonly secretKey?: string;
  readonly key?: string;
  readonly filename?: string;
  readonly owner?: string;
  readonly version?: number;
  readonly latest?: number;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: [];
  readonly connection?: string;
  readonly target?: { readonly kind: string; readonly name: string; readonly resourceVersion?: string };
  readonly items?: readonly ItemStatus[];
}

/** A status is true when the operator reports it (I3, I4, I13). */
export function checkStatus(world: World, name: string, before: KubeObject | undefined, after: KubeObject): void {
  const now = (after["status"] ?? {}) as Status;
  checkReportedVersions(world, name, before?.["status"] ?? {}, now, after);
  const isReady = findCondition(now.conditions, "Ready")?.status === "True";
  const isWaiting = ["Reconciling", "Stale"].some((type) => findCondition(now.conditions, type as "Stale")?.status === "True");
  if (!isReady || isWaiting || now.observedGeneration !== after.metadata.generation) return;
  checkReady(world, name, now, after);
}

/** A resource that is Ready has a target in which every key has the reported version, which is the latest listed one (I13). */
function checkReady(world: World, name: string, { items = [], target }: Status, after: KubeObject): void {
  const spec = after["spec"] as Spec;
  const { namespace } = after.metadata;
  const object = findTarget(world, target, namespace);
  const isCurrent = object !== undefined && object.metadata.resourceVersion === target?.resourceVersion;
  const content = isCurrent ? contentOf(object) : undefined;
  for (const { key, id, source, version, absence } of itemsOf(spec)) {
    const item = items.find((each) => (each.secretKey ?? each.key) === id);
    if (absence !== "never" && (item?.version === undefined || (content && !(key in content)))) continue;
    if (item?.version === undefined) throw new Violation("I13", `${name} is ready, but reports no version of ${key}`);
    const isOutdated = version === "latest" && spec.refreshInterval === undefined && item.version < (item.latest ?? 0);
    if (isOutdated) throw new Violation("I3", `${name} is ready with version ${item.version} of ${source}, not ${item.latest}`);
    const origin = content && world.vaults.origin(content[key] ?? "");
    if (content && (!origin?.versions.has(item.version) || origin.name !== source))
      throw new Violation("I13", `${name} is ready, but ${key} has other bytes than version ${item.version} of ${source}`);
  }
}

/**
 * The reported version of a source never decreases, unless the spec changes or pins it, or a user accepts it (I4). Whether the
 * content may have this version was checked when it was written.
 */
function checkReportedVersions(
  world: World,
  name: string,
  before: Status,
  now: Status,
  { metadata, kind, spec }: KubeObject,
): void {
  if (before.connection !== now.connection || before.observedGeneration !== now.observedGeneration) return;
  const accepted = world.acceptedBy(metadata.namespace, `${kind}/${metadata.name}`);
  const pinned = new Set(itemsOf(spec as Spec).flatMap(({ id, version }) => (version === "latest" ? [] : [id])));
  const target = findTarget(world, now.target, metadata.namespace);
  const content = target && contentOf(target);
  for (const item of now.items ?? []) {
    if (pinned.has(item.secretKey ?? item.key ?? "")) continue;
    const same = before.items?.find(
      (each) => each.secretKey === item.secretKey && each.key === item.key && each.filename === item.filename,
    );
    if (same?.version === undefined || item.version === undefined || same.owner !== item.owner) continue;
    const keys = itemsOf(spec as Spec).flatMap(({ id, key }) => (id === (item.secretKey ?? item.key) ? [key] : []));
    const isWritten = keys.some((key) => world.vaults.origin(content?.[key] ?? "")?.versions.has(item.version!));
    if (isWritten || item.version >= same.version || accepted.has(`${item.filename ?? item.key}@${item.version}`)) continue;
    throw new Violation("I4", `${name}: ${item.filename ?? item.key} went from version ${same.version} to ${item.version}`);
  }
}

function findTarget(world: World, target: Status["target"], namespace: string | undefined): KubeObject | undefined {
  return target && world.server.find(target.kind === "Secret" ? SECRETS : CONFIG_MAPS, { namespace, name: target.name });
}
