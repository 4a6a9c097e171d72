import { isDeepStrictEqual } from "node:util";
import { MANAGED_BY, MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import {
  fanOutResources,
  fanOutStatus,
  type FanOutStatus,
  isFanOutOwner,
  isSelected,
  livingNamespaces,
  selectsEnding,
} from "../fanned-out.ts";
import { isServed, isTypeAllowed } from "../reach.ts";
import { type Selection, selectsNamespace } from "../selectors.ts";
import { Violation, type World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import {
  hasGate,
  type Item,
  itemsOf,
  outputsOf,
  type Spec,
  specOf,
  targetOf,
} from "./spec-items.ts";
import { contentOf, type TargetWrite } from "./target-write.ts";

/** Time after which the operator knows a change, in milliseconds; see `SpecHistory`. */
const LAG_MS = 90_000;

/** Returns everything of an object that stays when it is released. */
const keptOf = ({
  metadata: { labels = {}, annotations = {}, finalizers = [] },
  ...object
}: KubeObject): unknown => [
  labels,
  annotations,
  finalizers,
  ...["data", "binaryData", "type", "immutable"].map((field) => object[field]),
];

/**
 * A resource for several namespaces writes targets only where it selects the namespace, or did so a
 * short time ago (I28). It never deletes one in another namespace, and takes nothing of it but its
 * owner reference (I29).
 */
export function checkSelection(write: TargetWrite): void {
  const { history, user, name, namespace, owner, before, after, was, is } = write;
  if (!isFanOutOwner(owner) || history.recent(namespace, owner).length > 0) return;
  const what = `${owner} does not select ${namespace}`;
  if (!before) throw new Violation("I28", `${user} created ${name}, although ${what}`);
  const lost = Object.keys(was).find((key) => was[key] !== is[key]);
  if (!after || lost !== undefined)
    throw new Violation("I29", `${name} lost ${lost ?? "everything"}, although ${what}`);
  if (!isDeepStrictEqual(keptOf(before), keptOf(after)))
    throw new Violation("I28", `${user} changed ${name}, although ${what}`);
}

/** Reports whether a write took the owner reference of a target, and nothing else. */
export function isRelease({ owner, before, after }: TargetWrite): boolean {
  if (!isFanOutOwner(owner) || !before || !after) return false;
  const [had = [], has = []] = [before, after].map(({ metadata }) => metadata.ownerReferences);
  return has.length < had.length && isDeepStrictEqual(keptOf(before), keptOf(after));
}

interface StatusWrite {
  readonly world: World;
  /** The specs as the replica knows them. */
  readonly history: KnownSpecs;
  readonly name: string;
  readonly after: KubeObject;
  /** Returns the version that the last write for a `<namespace> <owner>` gave a target. */
  readonly writtenVersion: (key: string) => string | undefined;
}

const readyOf = ({ conditions = [] }: FanOutStatus) =>
  conditions.find(({ type }) => type === "Ready");

/**
 * While a resource is Ready, each namespace that it selects for longer than a watch may lag, and
 * that its status does not name, has its target with sources of the present spec (I30).
 */
export function checkFanOutStatus(write: StatusWrite): void {
  const { history, after } = write;
  const status = fanOutStatus(after);
  const { generation, name } = after.metadata;
  if (readyOf(status)?.status !== "True" || status.observedGeneration !== generation) return;
  const failed = new Set(status.failures?.map(({ namespace }) => namespace));
  const owner = `${after.kind}/${name}`;
  // A spec that was changed and changed back looks the same.
  if (history.recent(undefined, owner).length > 1) return;
  const spec = specOf(after);
  for (const namespace of steadyNamespaces(write, spec)) {
    if (failed.has(namespace)) continue;
    const problem = problemIn(write, spec, namespace);
    if (problem !== undefined)
      throw new Violation("I30", `${write.name} is ready, but in ${namespace} ${problem}`);
  }
}

/** Returns the namespaces that a replica has to know, and that a spec has selected for as long. */
function steadyNamespaces({ world, history }: StatusWrite, spec: Spec): string[] {
  const known = world.clock.now() - LAG_MS - world.watchDelayMs();
  return livingNamespaces(world.server).filter((name) => {
    const { creationTimestamp = "" } = world.server.get(NAMESPACES, { name }).metadata;
    const labels = history.recentLabels(name);
    return (
      Date.parse(creationTimestamp) < known &&
      labels.every((one) => selectsNamespace(spec as Selection, name, one))
    );
  });
}

const isNeeded = ({ absence }: Pick<Item, "absence">): boolean => absence === "never";

/** Returns what a target lacks of a spec. What a user changed since the last write does not count. */
function problemIn(
  { world, after: { kind, metadata }, writtenVersion }: StatusWrite,
  spec: Spec,
  namespace: string,
): string | undefined {
  const target = targetOf(kind, metadata.name, spec);
  const descriptor = target.kind === "Secret" ? SECRETS : CONFIG_MAPS;
  const object = world.server.find(descriptor, { namespace, name: target.name });
  const written = writtenVersion(`${namespace} ${kind}/${metadata.name}`);
  const needed = itemsOf(spec).some(isNeeded) ? outputsOf(spec).filter(isNeeded) : [];
  if (object === undefined) {
    const isNever = written === undefined && needed.length > 0;
    return isNever ? "it never had a target" : undefined;
  }
  // A gate or a hold may keep bytes of an earlier source.
  const isFree =
    spec.target?.template === undefined &&
    spec.hold === undefined &&
    !hasGate(spec) &&
    !world.freezes.mayHold(namespace, LAG_MS);
  if (object.metadata.resourceVersion !== written || !isFree) return undefined;
  const content = contentOf(object);
  for (const { key, items } of needed) {
    const base64 = content[key];
    if (base64 === undefined) return `its target lacks the key ${key}`;
    const origins = world.vaults.originsIn(base64);
    const isRight = origins.some(({ name }) => items.some(({ source }) => source === name));
    if (!isRight) return `its target has bytes of another source under ${key}`;
  }
  return undefined;
}

/** Returns what is wrong with a resource for several namespaces when everything has converged. */
export function fanOutProblem(world: World): Violation | undefined {
  for (const resource of fanOutResources(world.server)) {
    if (!isServed(world, resource)) continue;
    const owned = stillOwned(world, resource);
    const name = `${resource.kind} ${resource.metadata.name}`;
    if (owned !== undefined) return new Violation("I29", `${name} still owns ${owned}`);
    const wrong = wrongStatus(world, resource);
    if (wrong !== undefined) return new Violation("I30", `${name}: ${wrong}`);
  }
  return undefined;
}

/**
 * Returns an object in a namespace that its owner does not select: it would be deleted with it. A
 * suspended resource, and one whose spec is not valid, releases nothing. Without a watch of Secrets,
 * a process does not know the Secrets that its predecessor wrote.
 */
function stillOwned(world: World, resource: KubeObject): string | undefined {
  const { server, replicas } = world;
  const spec = specOf(resource);
  if (spec.suspend === true || !isTypeAllowed(world, spec)) return undefined;
  const secrets = replicas.config.targetWatch === "off" ? [] : server.all(SECRETS);
  const owned = [...secrets, ...server.all(CONFIG_MAPS)].find(
    ({ metadata: { namespace = "", labels, ownerReferences = [] } }) =>
      // Without its label, no watch shows an object.
      labels?.[MANAGED_BY_LABEL] === MANAGED_BY &&
      ownerReferences.some(({ uid }) => uid === resource.metadata.uid) &&
      !isSelected(server, resource, namespace),
  );
  return owned && `${owned.kind} ${owned.metadata.namespace}/${owned.metadata.name}`;
}

/** Returns what is wrong with the counts and the Ready of a status. */
function wrongStatus(world: World, resource: KubeObject): string | undefined {
  if (selectsEnding(world.server, resource)) return undefined;
  const status = fanOutStatus(resource);
  const { namespaces: counts, failures = [] } = status;
  const selected = livingNamespaces(world.server).filter((namespace) =>
    isSelected(world.server, resource, namespace),
  );
  if (counts?.selected !== selected.length)
    return `${counts?.selected} namespaces are selected, not ${selected.join() || "none"}`;
  if (counts.ready + counts.failed !== counts.selected || counts.failed !== failures.length)
    return `${counts.ready} namespaces are ready, ${counts.failed} are not, and ${failures.length} of ${counts.selected} are listed`;
  const unknown = failures.find(({ namespace }) => !selected.includes(namespace));
  if (unknown !== undefined) return `${unknown.namespace} is listed, but not selected`;
  const names = failures.map(({ namespace }) => namespace);
  if (!isDeepStrictEqual(names, names.toSorted())) return `${names.join()} are not in order`;
  return wrongReady(world, resource, selected);
}

/** Returns how Ready contradicts the states of the namespaces. */
function wrongReady(
  world: World,
  resource: KubeObject,
  selected: readonly string[],
): string | undefined {
  const status = fanOutStatus(resource);
  const { failures = [] } = status;
  const ready = readyOf(status);
  const spec = specOf(resource);
  const isOff = spec.suspend === true || !isTypeAllowed(world, spec);
  const awaited = failures.filter(({ reason }) => reason !== "NamespaceNotAllowed");
  const isDenied = selected.length > 0 && failures.length === selected.length;
  const isReady = !isOff && awaited.length === 0 && !isDenied;
  return (ready?.status === "True") === isReady
    ? undefined
    : `Ready=${ready?.status} ${ready?.reason}: ${ready?.message}, with ${failures.length} of ${selected.length} namespaces not in sync`;
}
