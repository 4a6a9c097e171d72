import { isDeepStrictEqual } from "node:util";
import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { findCondition } from "../../src/operator/api/conditions.ts";
import type { Condition, ConditionType } from "../../src/operator/api/status.ts";
import {
  CREDENTIALS_TYPE,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
} from "../../src/operator/api/names.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { converge } from "./convergence.ts";
import { fanOutKinds, fanOutStatus, isFanOut } from "./fanned-out.ts";
import { itemsOf, targetOf, type Spec } from "./invariants/spec-items.ts";
import { awaitsFirstTarget } from "./first-targets.ts";
import { SYSTEM_NAMESPACE, Violation, type World } from "./world.ts";
import type { WriteRules } from "./write-rules.ts";

/**
 * Crashes and restarts both replicas of a quiet operator, and throws a `Violation` unless the state
 * is the same afterwards (I14).
 */
export async function checkRestart(world: World, rules: WriteRules): Promise<void> {
  const [before, start] = [stateOf(world), world.clock.now()];
  const isDelayed = hasDelayedVersions(world);
  const isAmbiguous = hasAmbiguousNames(world);
  const isUncertain = world.isTampered || isAmbiguous;
  const forgotten = forgottenHolds(world);
  const isResumed = hasStuckRemovals(world) || isAmbiguous;
  world.replicas.crashAll();
  world.replicas.startAll();
  await converge(world, rules);
  if (isDelayed || world.vaults.hasDeadlineBetween(start - 60_000, world.clock.now())) return;
  const after = stateOf(world);
  // A target that is gone is in the first one only.
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const state = after.get(name);
    if (isDeepStrictEqual(before.get(name), state) || isFoundConflict(state)) continue;
    const [was, is] = [before.get(name), state].map((each) => JSON.stringify(each));
    if (isUncertain && withoutNumber(was) === withoutNumber(is)) continue;
    if ((isResumed || forgotten.has(name)) && withoutHold(was) === withoutHold(is)) continue;
    throw new Violation("I14", `a restart changed ${name} from ${was} to ${is}`);
  }
}

const conditionOf = ({ status = {} }: KubeObject, type: ConditionType): Condition | undefined =>
  findCondition((status as { readonly conditions?: [] }).conditions, type);

/** Reports whether a resource follows a newer version at the end of its refreshInterval. */
const hasDelayedVersions = ({ server }: World): boolean =>
  [vaultSecretKind, vaultFileKind]
    .flatMap((kind) => server.all(kind))
    .some((object) => conditionOf(object, "UpdateAvailable") !== undefined);

/**
 * Reports whether another owner's entry of a name was listed when the entry of the bytes was gone.
 * A hold counts it if that was at its deadline; the next process does not know of the deadline. Nor
 * does it count what a target had before it was taken away. A confirmation leaves such a key where
 * it is: the next process holds it again.
 */
const hasAmbiguousNames = ({ server }: World): boolean =>
  server
    .all(vaultSecretKind)
    .some((object) => conditionOf(object, "Ready")?.reason === "AmbiguousName");

/** Returns a state without the number of the names that are held. */
const withoutNumber = (state = ""): string =>
  state.replaceAll(/\d+ referenced names|confirm-removals=\d+/gu, "");

/** Reports whether a resource uses a connection. */
function uses({ spec, metadata: { namespace } }: KubeObject, connection: KubeObject): boolean {
  const { kind = "VaultConnection", name } = (spec as Spec).connectionRef;
  return (
    kind === connection.kind &&
    name === connection.metadata.name &&
    (kind === "ClusterVaultConnection" || namespace === connection.metadata.namespace)
  );
}

interface ItemStatus {
  readonly secretKey?: string;
  /** The source of a secret; the key of a file. */
  readonly key?: string;
  readonly version?: number;
  readonly latest?: number;
  readonly deleteAt?: string;
  readonly otherVault?: boolean;
}

/**
 * Reports whether a target has bytes of a source that is gone, and that the policy of one of its
 * keys removes.
 */
function hasHeldBytes({ clock }: World, { spec, status = {} }: KubeObject): boolean {
  const { items = [] } = status as { readonly items?: readonly ItemStatus[] };
  const { target: { whenMissing = "Retain" } = {} } = spec as Spec;
  const kept = new Set(
    itemsOf(spec as Spec).flatMap(({ id, absence }) => (absence === "optional" ? [] : [id])),
  );
  const isRemoved = ({ secretKey, key = "", deleteAt = "" }: ItemStatus): boolean =>
    whenMissing === "Delete" || !kept.has(secretKey ?? key) || Date.parse(deleteAt) <= clock.now();
  const gone = items.filter(({ latest }) => latest === undefined);
  return gone.some(
    ({ key, version, otherVault = false }) =>
      (version !== undefined || otherVault) &&
      gone.some((other) => other.key === key && isRemoved(other)),
  );
}

/**
 * Returns the names of the connections that hold removals, and of their resources, where no target
 * has bytes of a source that is gone: a user took them away, or there never was a target. The next
 * process does not know of them.
 */
function forgottenHolds(world: World): ReadonlySet<string> {
  const { server, isTampered } = world;
  const resources = [vaultSecretKind, vaultFileKind].flatMap((kind) => server.all(kind));
  const groups = [vaultConnectionKind, clusterVaultConnectionKind]
    .flatMap((kind) => server.all(kind))
    .filter((connection) => conditionOf(connection, "RemovalsHeld") !== undefined)
    .map((connection) => ({ connection, users: resources.filter((one) => uses(one, connection)) }))
    .filter(
      ({ users }) =>
        (isTampered || users.some(isUncreated)) && users.every((one) => !hasHeldBytes(world, one)),
    );
  return new Set(groups.flatMap(({ connection, users }) => [connection, ...users]).map(nameOf));
}

/**
 * Reports whether the bytes of a removed source are still in a target, because another source keeps
 * the target unchanged, also under the key of a former spec, or in a former one, because the next
 * one is not in sync. The next process takes that for a removal that its predecessor could not
 * finish. With all else that is missing, it may hold.
 */
const hasStuckRemovals = (world: World): boolean =>
  [vaultSecretKind, vaultFileKind]
    .flatMap((kind) => world.server.all(kind))
    .some(
      (object) =>
        hasHeldBytes(world, object) ||
        objectsOf(world, object).some((target) => hasFormerBytes(object, target)),
    );

/** Reports whether the spec of a resource names a target. */
const isNamed = ({ kind, metadata, spec }: KubeObject, { kind: of, name }: ShownTarget): boolean =>
  isDeepStrictEqual(targetOf(kind, metadata.name, spec as Spec), { kind: of, name });

/** Returns the objects that belong to a resource. */
const objectsOf = ({ server }: World, { kind, metadata }: KubeObject): KubeObject[] =>
  [SECRETS, CONFIG_MAPS]
    .flatMap((of) => server.all(of))
    .filter(
      (object) =>
        object.metadata.namespace === metadata.namespace &&
        object.metadata.annotations?.[OWNER_ANNOTATION] === `${kind}/${metadata.name}`,
    );

/**
 * Reports whether an object of a resource is not its target, or has a key of a former spec while a
 * source is missing.
 */
function hasFormerBytes(resource: KubeObject, object: KubeObject): boolean {
  if (!isNamed(resource, { kind: object.kind, name: object.metadata.name })) return true;
  const { spec, status = {} } = resource;
  const { items = [] } = status as { readonly items?: readonly ItemStatus[] };
  if (items.every(({ latest }) => latest !== undefined)) return false;
  const { dataFrom = [] } = spec as Spec;
  const ids = new Set(itemsOf(spec as Spec).map(({ id }) => id));
  const sources = object.metadata.annotations?.[SOURCES_ANNOTATION] ?? "{}";
  // What a rule of the spec found is not among its items.
  const isFound = (source: unknown): boolean =>
    String(source).includes("=") && dataFrom.some(({ find }) => find !== undefined);
  return Object.entries(JSON.parse(sources) as object).some(
    ([id, source]) => !ids.has(id) && !isFound(source),
  );
}

interface ShownTarget {
  readonly kind: string;
  readonly name: string;
}

/** Reports whether a resource has no target because removals are held. */
const isUncreated = (object: KubeObject): boolean =>
  conditionOf(object, "Ready")?.message.includes("is not created without it, because") === true;

const nameOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  `${kind} ${namespace}/${name}`;

/** Returns a state without a hold of removals, and what resources without a target make of it. */
const withoutHold = (state = ""): string =>
  state
    .replaceAll(/,\{"type":"RemovalsHeld"[^}]*\}/gu, "")
    .replaceAll(
      /[^;"]+ is not in the list of [^;"]+; its key is kept, because too many[^";]*(; )?/gu,
      "",
    )
    .replaceAll(/the \w+ \S+ is not created without it, because too many names[^";]*/gu, "")
    .replaceAll("its key is removed (whenMissing: Delete)", "");

/** Returns every target, and what every resource reports. */
function stateOf({ server }: World): ReadonlyMap<string, unknown> {
  const reported = [
    vaultSecretKind,
    vaultFileKind,
    vaultConnectionKind,
    clusterVaultConnectionKind,
    ...Object.values(fanOutKinds),
  ].flatMap((kind) => server.all(kind).map((object) => [object, comparable(object)] as const));
  const targets = [SECRETS, CONFIG_MAPS]
    .flatMap((kind) => server.all(kind))
    // A restart refreshes stored tokens.
    .filter(
      ({ metadata, type }) => metadata.namespace !== SYSTEM_NAMESPACE && type !== CREDENTIALS_TYPE,
    )
    .map((object) => [object, object] as const);
  return new Map([...reported, ...targets].map(([object, state]) => [nameOf(object), state]));
}

/**
 * No watch shows an object of another owner: the next process finds it, where this one was content
 * with a missing source.
 */
const isFoundConflict = (state: unknown): boolean =>
  findCondition((state as { readonly conditions?: [] } | undefined)?.conditions, "Ready")
    ?.reason === "TargetConflict";

/**
 * Fields of a connection that follow the login, or that neither time nor a name without a resource
 * makes be written.
 */
const IGNORED = ["token", "loginPausedUntil", "rejectedCredentials", "secrets", "files"];

/**
 * Returns a status without what a restart may change. A restart logs in again: a connection is not
 * ready in between. A pause of logins remains in the status when it is over. The absence of a
 * source is proven again: until then nothing is stalled. The numbers of secrets and files come from
 * the last write. A restart lists pods sooner than the pause between two lists would have ended.
 */
function comparable(object: KubeObject): unknown {
  const { kind, status = {} } = object;
  const { conditions = [] } = status as {
    readonly conditions?: readonly {
      readonly type: string;
      readonly reason?: string;
      readonly lastTransitionTime?: string;
    }[];
  };
  if (isFanOut(kind)) return comparableParts(object);
  // Of a connection that was never listed, each process knows only since when it tries.
  if (!kind.endsWith("VaultConnection")) {
    // Each process waits five minutes for a first target.
    const isWaiting = awaitsFirstTarget(object);
    const shown = conditions.filter(
      ({ type }) =>
        !["Stale", "Converged"].includes(type) &&
        !(isWaiting && ["Stalled", "Reconciling"].includes(type)),
    );
    return {
      ...(status as object),
      // A window that opens in vain turns Ready twice.
      conditions: shown.map((one) =>
        one.type === "Stalled" || hasWindows(object) ? withoutTime(one) : one,
      ),
    };
  }
  const kept = Object.entries(status as object).filter(([field]) => !IGNORED.includes(field));
  // Each process waits five minutes for credentials.
  const shown = conditions.filter(
    ({ type, reason }) => type !== "Stalled" || reason !== "CredentialsMissing",
  );
  return { ...Object.fromEntries(kept), conditions: shown.map(withoutTime) };
}

/**
 * Returns what a status says of the namespaces. Which of them it names first, and whose items it has,
 * follows from which waits for a first target: each process waits five minutes for that. Nor does a
 * process know of a foreign object that its predecessor found.
 */
function comparableParts(object: KubeObject): unknown {
  const { conditions = [], namespaces, failures = [], observedGeneration } = fanOutStatus(object);
  const ready = conditions.find(({ type }) => type === "Ready");
  const listed = failures.map(({ namespace }) => namespace);
  return { observedGeneration, namespaces, listed, ready: ready?.status };
}

const hasWindows = ({ spec }: KubeObject): boolean => (spec as Spec).updates?.windows !== undefined;

const withoutTime = ({
  lastTransitionTime: _time,
  ...condition
}: {
  readonly lastTransitionTime?: string;
}): object => condition;
