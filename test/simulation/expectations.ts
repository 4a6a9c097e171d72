import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNER_ANNOTATION,
} from "../../src/operator/api/names.ts";
import { findCondition } from "../../src/operator/api/conditions.ts";
import {
  API_GROUP,
  clusterVaultConnectionKind,
  vaultConnectionKind,
} from "../../src/operator/api/kinds.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { contentProblem, type ExpectedContent, expectedContent } from "./expected-content.ts";
import { isRefused, isServed, isTypeAllowed } from "./reach.ts";
import { otherController } from "./topology-commands.ts";
import { isAllowed } from "./invariants/access.ts";
import { hidesNames } from "./invariants/removals.ts";
import type { ConnectionSpec } from "./invariants/spec-history.ts";
import {
  isOfCluster,
  type Item,
  itemsOf,
  outputsOf,
  type Spec,
  specOf,
  targetOf,
} from "./invariants/spec-items.ts";
import { claimedVersions, contentOf, mergedInto } from "./invariants/target-write.ts";
import { type Resolved, resolve } from "./resolved-items.ts";
import { EDITED_VERSION, type World } from "./world.ts";

/** The outcome that a resource must reach. */
export type Expected =
  | {
      readonly ready: true;
      readonly content: Readonly<Record<string, string>>;
      readonly isMerged: boolean;
    }
  | { readonly ready: false; readonly reasons: readonly string[]; readonly mayBeStale?: boolean }
  | "anything";

const MISSING = [
  "SourceMissing",
  "SourceRemoved",
  "VersionNotFound",
  "AmbiguousName",
  "VersionRegressed",
  "SourceSuspicious",
];
/** Reasons that are found before an object that is in the way. */
const CONTENT = ["InvalidProperty", "InvalidKey", "TemplateError", "InvalidContent", "InvalidSpec"];

const failing = (...reasons: readonly string[]): Expected => ({ ready: false, reasons });

/** Returns the target of a resource. */
const targetNameOf = ({
  kind,
  metadata,
  spec,
}: KubeObject): { readonly kind: string; readonly name: string } =>
  targetOf(kind, metadata.name, spec as Spec);

/** Returns the object that has the name of the target of a resource. */
export function targetObject(world: World, resource: KubeObject): KubeObject | undefined {
  const { kind, name } = targetNameOf(resource);
  return world.server.find(kind === "Secret" ? SECRETS : CONFIG_MAPS, {
    namespace: resource.metadata.namespace,
    name,
  });
}

const isFound = ({ item }: { readonly item: Item }): boolean => item.absence === "found";

/** Returns the outcome that a resource must reach in a quiet world. */
export function expectedOf(world: World, object: KubeObject, all: readonly KubeObject[]): Expected {
  const { namespace = "" } = object.metadata;
  const spec = specOf(object);
  if (!isTypeAllowed(world, spec)) return failing("InvalidSpec");
  if (spec.suspend) return failing("Suspended");
  const { name } = spec.connectionRef;
  const connection = isOfCluster(spec)
    ? world.server.find(clusterVaultConnectionKind, { name })
    : world.server.find(vaultConnectionKind, { namespace, name });
  if (!connection || !isServed(world, connection)) return failing("ConnectionNotFound");
  const connectionSpec = connection["spec"] as ConnectionSpec;
  const { labels = {} } = world.server.get(NAMESPACES, { name: namespace }).metadata;
  if (isOfCluster(spec) && !isAllowed(object.kind, spec, connectionSpec, labels))
    return failing("NamespaceNotAllowed");
  if (isRefused(world, connectionSpec))
    return {
      ready: false,
      reasons: ["ConnectionNotReady", "TargetConflict", ...MISSING, ...CONTENT],
      mayBeStale: true,
    };
  // A scope hides names. Which versions a hold of everything keeps is not known here.
  const isHeldAsIs = itemsOf(spec).some((item) => item.isHeld === true);
  if (hidesNames(connectionSpec) || isHeldAsIs) return "anything";
  const resolved = itemsOf(spec).map((item) => resolve(world, connectionSpec, object.kind, item));
  const existing = targetObject(world, object);
  // Without a key to write, no object is in the way. The entry of another owner does not replace
  // one that its owner removed.
  const isEmpty = resolved.every(
    ({ item, isListed, irregular }) =>
      item.absence === "optional" && (isListed !== true || irregular),
  );
  const conflict = conflictOf(object, existing);
  // A namespace finds what it may read, and what it found earlier may not be allowed any more.
  const isDenied = isOfCluster(spec) && resolved.some(isFound);
  const denied = isDenied ? ["NamespaceNotAllowed"] : [];
  if (conflict)
    return isEmpty ? "anything" : failing(...conflict, ...denied, ...MISSING, ...CONTENT);
  const target = targetNameOf(object);
  const isRival = (other: KubeObject): boolean =>
    other !== object && other.metadata.namespace === namespace;
  const rivals = all.filter((other) => isRival(other) && isSame(targetNameOf(other), target));
  if (rivals.length > 0 || resolved.some(({ irregular }) => irregular)) return "anything";
  // A key whose optional source is gone is kept until a user confirms that.
  if (isHeld(connection) && existing && resolved.some(isOptionalGone)) return "anything";
  if (isDenied || hasEditedVersions(existing)) return "anything";
  return world.vaults.origins.meaning(
    resolved.map(({ item }) => item.source),
    () => outcome(spec, object, existing, resolved, world),
  );
}

/**
 * Reports whether a target still has the versions that a user wrote into it. Of bytes of another
 * vault nothing else says the version, and the first vault has a lower one when the connection is
 * back: a user has to accept that.
 */
const hasEditedVersions = (existing: KubeObject | undefined): boolean =>
  Object.values(claimedVersions(existing)).includes(EDITED_VERSION);

const isOptionalGone = ({ item, base64 }: Resolved): boolean =>
  item.absence === "optional" && base64 === undefined;

/** Returns the objects that belong to a resource, its former targets as well. */
const ownObjects = ({ server }: World, resource: KubeObject): readonly KubeObject[] =>
  [...server.all(SECRETS), ...server.all(CONFIG_MAPS)].filter(
    (object) =>
      object.metadata.namespace === resource.metadata.namespace && belongsTo(resource, object),
  );

/** Reports whether the removals of a connection are held. */
const isHeld = ({ status }: KubeObject): boolean =>
  findCondition((status as { conditions?: [] } | undefined)?.conditions, "RemovalsHeld")?.status ===
  "True";

/** Returns what a resource makes of its sources. */
function outcome(
  spec: Spec,
  object: KubeObject,
  existing: KubeObject | undefined,
  resolved: readonly Resolved[],
  world: World,
): Expected {
  const found = resolved.filter(isFound);
  // A rule that finds nothing, and a name that it found earlier.
  if (found.length > 0 && found.every(({ base64 }) => base64 === undefined)) return "anything";
  // Until the next target has its content, a former one keeps what the rule found.
  const present = [existing ?? [], ownObjects(world, object)]
    .flat()
    .flatMap((one) => Object.keys(contentOf(one)));
  const mayBeKept = ({ item }: Resolved): boolean =>
    present.includes(item.key) || spec.target?.template !== undefined;
  if (present.length > 0 && found.some((one) => one.base64 === undefined && mayBeKept(one)))
    return "anything";
  const needed = resolved.filter(({ item, base64, isListed, lacksVersion }) => {
    // A hold also names versions that do not exist, of names that a rule finds.
    if (item.absence === "found") return base64 !== undefined || lacksVersion === true;
    return base64 !== undefined || isListed === true || item.absence !== "optional";
  });
  const content = expectedContent(world, spec, needed);
  const problem = contentProblem(spec, content);
  const reasons = [...problem, ...(isFixed(spec, existing) ? ["TargetImmutable"] : [])];
  // The remaining keys are still merged, unless they belong to others, or the type of the object
  // requires keys that an earlier spec named.
  const merged =
    spec.target?.creationPolicy === "Merge" ? ["TargetConflict", "TargetRejected"] : [];
  if (needed.some(({ base64 }) => base64 === undefined))
    return failing(...MISSING, ...reasons, ...merged, ...goneAdoption(object, existing, needed));
  if (problem.length > 0) return failing(...reasons);
  return outcomeOf(world, object, existing, content.keys);
}

/** Returns the outcome for a content that the target can have. */
function outcomeOf(
  world: World,
  object: KubeObject,
  existing: KubeObject | undefined,
  content: ExpectedContent["keys"],
): Expected {
  const spec = specOf(object);
  const isMerged = spec.target?.creationPolicy === "Merge";
  const ready = { ready: true, content, isMerged } as const;
  if (!existing) return ready;
  // Without a key to write, an object that is handed over is not taken over.
  if (Object.keys(content).length === 0) {
    if (isHandedOver(object, existing)) return "anything";
    if (!isMerged) return ready;
  }
  const now = contentOf(existing);
  if (isMerged) {
    const merged = mergedInto(existing);
    const owner = `${object.kind}/${object.metadata.name}`;
    const { keys: own = [] } = merged.get(owner) ?? {};
    // The type of the object may require keys that an earlier spec named.
    if (!hasType({ ...spec, target: {} }, existing) && own.some((key) => !(key in content)))
      return "anything";
    // A resource keeps its keys of a former target until it has its next one.
    const others = [...merged].flatMap(([other, { keys }]) => (other === owner ? [] : keys));
    // What another writer has set belongs to it, unless its owner hands it over.
    const isForeign = (key: string): boolean =>
      key in now &&
      (others.includes(key) ||
        (!handsKeysOver(object, existing) &&
          (!own.includes(key) || world.vaults.originsIn(now[key]!).length === 0)));
    if (Object.keys(content).some(isForeign)) return "anything";
    const isChanged =
      Object.entries(content).some(([key, base64]) => now[key] !== base64) ||
      own.some((key) => key in now && !(key in content));
    // A target that became an object of another owner stays immutable.
    return isChanged && existing["immutable"] === true ? failing("TargetImmutable") : ready;
  }
  // A key whose optional source is missing would be removed too.
  const losesKeys =
    isHandedOver(object, existing) && Object.keys(now).some((key) => !(key in content));
  if (losesKeys) return failing("AdoptionHeld", "TargetImmutable");
  if (!isFixed(spec, existing)) return ready;
  const isSameContent = isEqual(now, content);
  if (isSameContent && hasType(spec, existing)) return "anything";
  return failing("TargetImmutable");
}

const isEqual = (
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([key, base64]) => other[key] === base64);

const hasType = ({ target }: Spec, existing: KubeObject): boolean =>
  existing.kind !== "Secret" || existing["type"] === (target?.type ?? "Opaque");

/**
 * Reports whether the content or the type of an object cannot be changed to what a spec requests.
 */
const isFixed = (spec: Spec, existing: KubeObject | undefined): boolean =>
  existing !== undefined && (existing["immutable"] === true || !hasType(spec, existing));

/**
 * Returns the reasons for which the object that has the name of a target is not written;
 * `undefined` if it may be.
 */
function conflictOf(
  object: KubeObject,
  existing: KubeObject | undefined,
): readonly string[] | undefined {
  const spec = specOf(object);
  if (spec.target?.creationPolicy === "Merge") {
    if (!existing) return ["TargetMissing"];
    const { labels = {}, annotations = {}, ownerReferences = [] } = existing.metadata;
    const named =
      labels[MANAGED_BY_LABEL] === MANAGED_BY ? annotations[OWNER_ANNOTATION] : undefined;
    // A controller owns its target without the label, too.
    const controller = ownerReferences.find(
      (one) => one.controller === true && one.apiVersion.startsWith(API_GROUP),
    );
    const owner = controller ? `${controller.kind}/${controller.name}` : named;
    const isOther = owner !== undefined && owner !== `${object.kind}/${object.metadata.name}`;
    return isOther ? ["TargetConflict"] : undefined;
  }
  if (!existing || belongsTo(object, existing)) return undefined;
  // Its annotations are written back with its content alone.
  if (isFixed(spec, existing) && isController(object, existing)) return ["TargetImmutable"];
  return isHandedOver(object, existing) ? heldAdoption(object, existing) : ["TargetConflict"];
}

const isController = ({ metadata }: KubeObject, existing: KubeObject): boolean =>
  existing.metadata.ownerReferences?.some(
    ({ uid, controller }) => uid === metadata.uid && controller === true,
  ) === true;

/**
 * Reports whether the owner of an object hands it over to a resource. Another controller keeps it.
 */
const isHandedOver = (
  { kind, metadata: { name } }: KubeObject,
  { metadata }: KubeObject,
): boolean =>
  metadata.annotations?.[ADOPT_ANNOTATION] === `${kind}/${name}` &&
  (metadata.ownerReferences ?? []).every(({ controller }) => controller !== true);

/** Reports whether the owner of an object hands keys over to a resource that merges them. */
const handsKeysOver = (
  { kind, metadata: { name } }: KubeObject,
  { metadata }: KubeObject,
): boolean =>
  (metadata.annotations?.[ADOPT_ANNOTATION] ?? "").split(",").includes(`${kind}/${name}`);

/** An adoption that would remove keys waits for the confirmation of their number. */
function heldAdoption({ spec }: KubeObject, existing: KubeObject): readonly string[] | undefined {
  const keys = new Set(outputsOf(spec as Spec).map(({ key }) => key));
  const lost = Object.keys(contentOf(existing)).filter((key) => !keys.has(key));
  const confirmed = existing.metadata.annotations?.[CONFIRM_REMOVALS_ANNOTATION];
  return lost.length === 0 || confirmed === `${lost.length}` ? undefined : ["AdoptionHeld"];
}

/**
 * Returns the reason for which an object that is handed over is not written with a part of the
 * content: without what is gone, it would lose a key of its user.
 */
function goneAdoption(
  object: KubeObject,
  existing: KubeObject | undefined,
  needed: readonly Resolved[],
): readonly string[] {
  const isDeleted = specOf(object).target?.whenMissing === "Delete";
  if (!isDeleted || existing === undefined || !isHandedOver(object, existing)) return [];
  const present = contentOf(existing);
  const isLost = needed.some(({ item, base64 }) => base64 === undefined && item.key in present);
  return isLost ? ["AdoptionHeld"] : [];
}

/**
 * A tool that removed both the label and the owner reference has taken the target away, whatever
 * its annotation says.
 */
export function belongsTo(
  { kind, metadata: { name, uid } }: KubeObject,
  { metadata }: KubeObject,
): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  if (otherController({ metadata } as KubeObject) !== undefined) return false;
  const isMarked =
    labels[MANAGED_BY_LABEL] === MANAGED_BY || ownerReferences.some((owner) => owner.uid === uid);
  return isMarked && annotations[OWNER_ANNOTATION] === `${kind}/${name}`;
}

const isSame = (a: { kind: string; name: string }, b: { kind: string; name: string }): boolean =>
  a.kind === b.kind && a.name === b.name;
