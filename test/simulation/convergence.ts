import { findCondition } from "../../src/operator/api/conditions.ts";
import {
  APPROVE_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
} from "../../src/operator/api/names.ts";
import { type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { clusterVaultConnectionKind, vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { NAMESPACES, SILENCE_MS, Violation, type World } from "./world.ts";
import { belongsTo, type Expected, expectedOf, targetObject } from "./expectations.ts";
import { fanOutResources, isFanOut, selectsEnding } from "./fanned-out.ts";
import { checkExpiries } from "./invariants/expiries.ts";
import { fanOutProblem } from "./invariants/fan-out.ts";
import { leftBehind } from "./invariants/left-behind.ts";
import { needsApproval, type Spec } from "./invariants/spec-items.ts";
import { outdatedWorkload } from "./invariants/restarts.ts";
import { type Content, contentOf } from "./invariants/target-write.ts";
import { checkFirstTargets, lackingCredentials, mayBecomeStalled } from "./first-targets.ts";
import { isRefused, isServed } from "./reach.ts";
import type { ConnectionSpec } from "./invariants/spec-history.ts";
import type { WriteRules } from "./write-rules.ts";

/**
 * Time in ms after which everything must have converged: the longest pause of a login, and a
 * resync.
 */
const LIMIT_MS = 7_200_000;
const STEP_MS = 60_000;
/** Time in ms within which each window opens. */
const WINDOW_MS = 1_860_000;
/**
 * Steps without a write after which everything has converged: another replica has taken over a
 * Lease by then.
 */
const CALM_STEPS = 3;
/** Steps within which the absence of a source is proven after a start, or after a login. */
const PROOF_STEPS = 3;
/**
 * Time in ms in which nothing may happen. The longer time would take half of the time of a
 * simulation and only finds what the operator does after its longest wait: one seed in so many has
 * it.
 */
const QUIET_MS = { usual: 120_000, long: 600_000, seedsPerLong: 5 };

/** Size in bytes of a cache that may not keep the values of all resources. */
const SMALL_CACHE_BYTES = 2_000;
/** Time in ms after which a resource tries again to merge keys that belong to others. */
const CONFLICT_MS = 30_000;

/** Highest number of connections of a namespace. */
const CONNECTION_NAMES = 3;

interface ConnectionState {
  readonly conditions?: [];
  readonly loginPausedUntil?: string;
  readonly users?: number;
}

/**
 * Ends all faults, and throws a `Violation` unless every resource reaches its expected state in
 * time (I5, I13), and the operator is quiet from then on (I9).
 */
export async function settle(world: World, rules: WriteRules): Promise<void> {
  world.calm();
  rules.pushes?.calm();
  world.quietSince = Infinity;
  await converge(world, rules);
  world.quietSince = world.clock.monotonic();
  const [writes, requests, start] = [rules.writes, world.vaultRequests, world.clock.now()];
  const pushed = rules.pushes?.writes;
  const pauses = writesOfPauses(world);
  const waits = [...mayBecomeStalled(world), ...lackingCredentials(world)];
  const conflicts =
    unseenConflicts(world) +
    unseenChanges(world) +
    windowsInVain(world) * 2 +
    waits.length +
    waitsForEnd(world);
  const quietMs = world.seed % QUIET_MS.seedsPerLong === 1 ? QUIET_MS.long : QUIET_MS.usual;
  await world.advance(quietMs);
  checkExpiries(world);
  if (quietMs === QUIET_MS.long) checkFirstTargets(world, rules.hasWritten.bind(rules));
  const deadlines = world.vaults.hasDeadlineBetween(start - STEP_MS, world.clock.now());
  if (rules.pushes?.writes !== pushed && !deadlines)
    throw new Violation("I9", "versions were pushed although nothing changed");
  if (rules.writes > writes + pauses + conflicts && !deadlines)
    throw new Violation("I9", `${rules.writes - writes} writes although nothing changed`);
  // A watch that is open shows the connections of a namespace whose permissions were withdrawn, and
  // none shows that they are deleted.
  const unwatched = NAMESPACES.filter((namespace) =>
    world.rights.wasUnwatched(namespace, 0),
  ).length;
  const connections = allConnections(world).length + unwatched * CONNECTION_NAMES;
  const most = connections * 2 * (quietMs / 5_000 + 4) * 1.3 + readsOfConflicts(world, quietMs);
  if (world.vaultRequests - requests > most)
    throw new Violation(
      "I9",
      `${world.vaultRequests - requests} requests to the vaults of ${connections} connections`,
    );
}

/** Waits until every resource has its expected state, and no write has followed for a while. */
export async function converge(world: World, rules: WriteRules): Promise<void> {
  let calm = world.hasSilentWatches ? -SILENCE_MS / STEP_MS : 0;
  const needed = (): number => CALM_STEPS + (removesMissing(world) ? PROOF_STEPS : 0);
  for (let waited = 0; calm < needed(); waited += STEP_MS) {
    const { writes, pushes } = rules;
    const pushed = pushes?.writes;
    await world.advance(STEP_MS);
    const wrong =
      difference(world) ??
      pushes?.difference() ??
      (pushes?.writes === pushed ? undefined : "more versions were pushed") ??
      outdatedWorkload(world) ??
      (waited < WINDOW_MS && waitsForWindow(world) ? "a window has not opened" : undefined) ??
      (world.freezes.isHolding ? "a freeze has not ended" : undefined) ??
      (rules.writes > writes + windowsInVain(world)
        ? `${rules.writes - writes} more writes`
        : undefined);
    const problem = wrong === undefined ? fanOutProblem(world) : new Violation("I5", wrong);
    if (problem !== undefined && waited >= LIMIT_MS) throw problem;
    calm = problem === undefined ? calm + 1 : Math.min(calm + 1, 0);
  }
}

/**
 * Returns the most writes that the end of the pauses of logins causes: the status of a connection
 * shows it, and those of its users may show another failure.
 */
const writesOfPauses = (world: World): number =>
  allConnections(world)
    .map(({ status }) => (status ?? {}) as ConnectionState)
    .filter(({ loginPausedUntil }) => loginPausedUntil !== undefined)
    .reduce((sum, { users = 0 }) => sum + 1 + users, 0);

/**
 * Returns the number of targets without which a resource waits, although others have created them:
 * no watch shows those.
 */
const unseenConflicts = (world: World): number =>
  world.resources.filter((object) => {
    const target = targetObject(world, object);
    const { conditions } = (object["status"] ?? {}) as { readonly conditions?: [] };
    const isOther = target !== undefined && !belongsTo(object, target);
    return isOther && findCondition(conditions, "Ready")?.reason !== "TargetConflict";
  }).length;

/**
 * Returns the most reads of values by resources whose keys belong to others in the object that they
 * merge into. They try again every 30 s and at a resync; with a small cache they read all values
 * again.
 */
function readsOfConflicts({ resources, replicas }: World, quietMs: number): number {
  const { valueCacheBytes, resync } = replicas.config;
  if (valueCacheBytes > SMALL_CACHE_BYTES) return 0;
  const attempts = 1 + quietMs / CONFLICT_MS + (resync === 0 ? 0 : quietMs / resync);
  const sources = resources.flatMap(({ spec, status }) => {
    const { conditions, items = [] } = (status ?? {}) as {
      readonly conditions?: [];
      readonly items?: readonly { readonly key?: string; readonly filename?: string }[];
    };
    const isConflict = findCondition(conditions, "Ready")?.reason === "TargetConflict";
    const isMerge = (spec as Spec).target?.creationPolicy === "Merge";
    return isConflict && isMerge
      ? [...new Set(items.map(({ filename, key }) => filename ?? key))]
      : [];
  });
  return sources.length * attempts;
}

/**
 * Returns the most writes at the beginning or the end of windows: a status and its event of each
 * resource that cannot follow within its window, such as one whose target cannot be changed.
 */
const windowsInVain = ({ resources }: World): number =>
  2 * resources.filter(({ spec }) => (spec as Spec).updates?.windows !== undefined).length;

/** Returns the most writes of resources with targets in namespaces whose deletion does not end. */
const waitsForEnd = ({ server }: World): number =>
  2 * fanOutResources(server).filter((object) => selectsEnding(server, object)).length;

/** Reports whether an object of a resource has lost the label. */
const lacksLabel = ({ metadata: { labels, ownerReferences = [] } }: KubeObject): boolean =>
  labels?.[MANAGED_BY_LABEL] !== MANAGED_BY && ownerReferences.length > 0;

/**
 * Returns the most writes that a resync causes without a watch of Secrets: a target that lost its
 * label is repaired then, and reported. In a namespace of several, no process knows whether its
 * predecessor has written a target.
 */
function unseenChanges({ server, replicas, resources }: World): number {
  if (replicas.config.targetWatch === "on") return 0;
  const unknown = resources.filter(
    ({ kind, status }) =>
      isFanOut(kind) &&
      findCondition((status as ConnectionState).conditions, "Ready")?.status === "False",
  );
  return 2 * (server.all(SECRETS).filter(lacksLabel).length + unknown.length);
}

/**
 * Reports whether a resource removes the keys of missing sources, once their absence is proven to
 * the process that runs now.
 */
const removesMissing = ({ resources }: World): boolean =>
  resources.some(({ spec, status }) => {
    const { conditions } = (status ?? {}) as { readonly conditions?: [] };
    return (
      (spec as Spec).target?.whenMissing === "Delete" &&
      findCondition(conditions, "Ready")?.reason === "SourceMissing"
    );
  });

const allConnections = ({ server }: World): KubeObject[] => [
  ...server.all(vaultConnectionKind),
  ...server.all(clusterVaultConnectionKind),
];

/** Returns the connections that must become ready. */
const connectionsOf = (world: World): KubeObject[] =>
  allConnections(world).filter(
    (connection) =>
      isServed(world, connection) && !isRefused(world, connection["spec"] as ConnectionSpec),
  );

/** Returns what is not as expected; `undefined` if everything is. */
function difference(world: World): string | undefined {
  const connections = connectionsOf(world);
  const failing = connections.find(
    ({ status }) =>
      findCondition((status as ConnectionState | undefined)?.conditions, "Ready")?.status !==
      "True",
  );
  if (failing)
    return `VaultConnection ${failing.metadata.namespace}/${failing.metadata.name} is not ready`;
  const stale = connections.find(
    ({ status }) =>
      findCondition((status as ConnectionState | undefined)?.conditions, "Stale")?.status ===
      "True",
  );
  if (stale) return `VaultConnection ${stale.metadata.namespace}/${stale.metadata.name} is stale`;
  const objects = world.resources.filter((one) => isServed(world, one));
  for (const object of objects) {
    const expected = expectedOf(world, object, objects);
    // Between windows, a version that a target cannot follow within one only waits.
    const isClosed = expected !== "anything" && !expected.ready && isOutsideWindow(object);
    const isGated = expected === "anything" || isClosed || isAwaiting(object);
    const wrong = isGated ? undefined : differenceOf(world, object, expected);
    if (wrong !== undefined)
      return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}: ${wrong}`;
  }
  return leftBehind(world, objects);
}

function isOutsideWindow({ status = {} }: KubeObject): boolean {
  const { conditions } = status as { readonly conditions?: [] };
  return findCondition(conditions, "UpdateAvailable")?.reason === "OutsideWindow";
}

/** Reports whether a resource waits for its next window. */
const waitsForWindow = ({ resources }: World): boolean => resources.some(isOutsideWindow);

interface Approvable {
  readonly approvalDigest?: string;
  readonly observedGeneration?: number;
}

/** Reports whether a resource waits for an approval that no user has given. */
function isAwaiting({ metadata, spec, status = {} }: KubeObject): boolean {
  const { approvalDigest } = status as Approvable;
  const approved = metadata.annotations?.[APPROVE_ANNOTATION];
  return needsApproval(spec as Spec) && approvalDigest !== undefined && approvalDigest !== approved;
}

function differenceOf(
  world: World,
  object: KubeObject,
  expected: Exclude<Expected, "anything">,
): string | undefined {
  const status = (object["status"] ?? {}) as {
    observedGeneration?: number;
    conditions?: [];
    lastForceSync?: string;
  };
  const ready = findCondition(status.conditions, "Ready");
  const { generation, annotations = {} } = object.metadata;
  if (status.observedGeneration !== generation)
    return `generation ${generation} was not observed, but ${status.observedGeneration}`;
  if (findCondition(status.conditions, "Stale")?.status === "True")
    return !expected.ready && expected.mayBeStale === true ? undefined : "Stale=True";
  const seen = `Ready=${ready?.status} ${ready?.reason}: ${ready?.message}`;
  // An invalid spec is reported also while it is suspended.
  const { suspend: isSuspended = false } = object["spec"] as Spec;
  const forced = annotations[FORCE_SYNC_ANNOTATION];
  if (forced !== undefined && !isSuspended && status.lastForceSync !== forced)
    return `the forced sync ${forced} was not echoed, but ${status.lastForceSync}`;
  if (!expected.ready)
    return expected.reasons.includes(ready?.reason ?? "")
      ? undefined
      : `${seen}; expected ${expected.reasons.join(" or ")}`;
  if (ready?.status !== "True") return `${seen}; expected Ready=True`;
  const target = targetObject(world, object);
  if (!target)
    return Object.keys(expected.content).length === 0
      ? undefined
      : "Ready=True, but there is no target";
  return differenceOfContent(contentOf(target), expected) ?? differenceOfMetadata(object, target);
}

function differenceOfContent(
  content: Content,
  expected: Extract<Expected, { ready: true }>,
): string | undefined {
  // An object that keys are merged into has others.
  const present = expected.isMerged ? [] : Object.keys(content);
  const keys = [...new Set([...present, ...Object.keys(expected.content)])];
  const wrong = keys.filter((key) => content[key] !== expected.content[key]);
  if (wrong.length === 0) return undefined;
  const found = wrong.map(
    (key) => `${key} (${decoded(content[key])}, expected ${decoded(expected.content[key])})`,
  );
  return `Ready=True, but the target has other bytes under ${found.join()}`;
}

/** Returns an entry that is requested and that the actual ones lack. */
const lacking = (
  requested: object,
  actual: Readonly<Record<string, string>> = {},
): string | undefined =>
  Object.entries(requested).find(([name, value]) => actual[name] !== value)?.[0];

/** Returns a label or an annotation that a spec requests and the target lacks. */
function differenceOfMetadata({ spec }: KubeObject, { metadata }: KubeObject): string | undefined {
  const { labels = {}, annotations = {} } = (spec as Spec).target ?? {};
  const name = lacking(labels, metadata.labels) ?? lacking(annotations, metadata.annotations);
  return name && `Ready=True, but the target lacks ${name}`;
}

const decoded = (base64: string | undefined): string =>
  base64 === undefined ? "none" : Buffer.from(base64, "base64").toString();
