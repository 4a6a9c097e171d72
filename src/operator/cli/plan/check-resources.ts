import { isObject } from "../../../lib/is-object.ts";
import type { Manifests } from "../manifests/read-manifests.ts";
import type { Labels } from "../../api/namespace-selector.ts";
import { decide, targetName } from "../../sync/decide.ts";
import {
  accessOf,
  accessRules,
  checkAccess,
  everything,
  type NamespaceAccess,
} from "../../sync/namespace-access.ts";
import { itemProblems, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { Candidate, Resolution } from "../../sync/resolution.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import type { SyncedKey, TargetState } from "../../sync/target.ts";
import { checkTemplate } from "../../template/check-template.ts";
import { type Problem, problemAt } from "../manifests/manifest.ts";
import { type PlannedConnection, type PlannedResource, pathOf } from "./planned-resource.ts";
import { type ResolvedResource, unread } from "./resolve-references.ts";

/** Label that every namespace has, with its name. */
export const NAME_LABEL = "kubernetes.io/metadata.name";

/** The namespaces whose objects are in the files, with their labels. */
export type KnownNamespaces = ReadonlyMap<string, Labels>;

/** Returns the labels of the Namespaces in the files. */
export function knownNamespaces({ coreObjects }: Manifests): KnownNamespaces {
  const namespaces = coreObjects.filter(({ kind }) => kind === "Namespace");
  return new Map(
    namespaces.map(({ name, metadata: { labels } }) => [
      name,
      Object.fromEntries(
        Object.entries(isObject(labels) ? labels : {}).map(([key, value]) => [key, String(value)]),
      ),
    ]),
  );
}

/**
 * Returns what a namespace may read through a connection: `unknown` if that depends on labels of a
 * namespace that is not in the files.
 */
export function accessThrough(
  { kind, spec }: PlannedConnection,
  namespace: string,
  known: KnownNamespaces,
): NamespaceAccess {
  if (kind === "VaultConnection") return everything;
  // A cluster-scoped resource whose namespaces are not known.
  if (namespace === "") return "unknown";
  const rules = accessRules(spec.access ?? []);
  const labels = known.get(namespace);
  const isNamed = ({
    selector: { matchLabels = {}, matchExpressions = [] },
  }: (typeof rules)[number]): boolean =>
    [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)].every(
      (key) => key === NAME_LABEL,
    );
  if (labels === undefined && !rules.every(isNamed)) return "unknown";
  return accessOf(rules, { ...labels, [NAME_LABEL]: namespace });
}

/**
 * The object that a resource merges keys into exists, and has none of its keys; the plan does not
 * ask the cluster.
 */
const mergedInto = {
  state: "owned",
  uid: "",
  resourceVersion: "",
  content: undefined,
  synced: new Map(),
  // Nothing says that a key of it is of the resource.
  annotationsCorrupted: true,
  hasMetadata: false,
} as const satisfies TargetState;

/**
 * Returns the target that a resource is checked with.
 * @param synced origins of its bytes; `undefined`: it has nothing of the resource yet
 */
export function targetWith(
  resource: SyncResource,
  synced: ReadonlyMap<string, SyncedKey> | undefined,
): TargetState {
  if (synced === undefined) return isMerged(resource) ? mergedInto : { state: "absent" };
  return { ...mergedInto, synced, annotationsCorrupted: false, hasMetadata: true };
}

const listed: Candidate = { ...unread, owner: undefined, own: true, latest: 1, sizes: undefined };

/** Assumes that every source exists, because no list was read. */
const supposed = ({ items }: SyncResource): readonly Resolution[] =>
  items.map((item) => ({ state: "found", item, candidate: listed, version: 1 }));

/** Returns what is wrong with the target. An invalid spec is, whatever else is unknown. */
const targetProblems = (
  { ready, reason, message }: ReadyCondition,
  isCertain: boolean,
): readonly string[] => (!ready && (isCertain || reason === "InvalidSpec") ? [message] : []);

/**
 * Returns what the operator would report of a resource before it has read a value: the result of
 * its rules. `resolved` is `undefined` if its references were not compared with the vault.
 * @param synced origins of the bytes of its target; `undefined`: there is none yet
 */
export function checkResource(
  planned: PlannedResource,
  access: NamespaceAccess,
  resolved: ResolvedResource | undefined,
  synced?: ReadonlyMap<string, SyncedKey>,
): readonly Problem[] {
  const { manifest } = planned;
  const resource = resolved?.resource ?? planned.resource;
  const verdict = checkAccess(resource, entriesOf(resource.kind), access);
  if (typeof verdict === "object")
    return [problemAt(manifest, ["spec", "connectionRef"], verdict.message)];
  const target = targetWith(resource, synced);
  const absent = target.state === "absent" ? targetName(resource) : undefined;
  const resolutions = resolved?.resolutions ?? supposed(resource);
  const ofItems = itemProblems(resolutions, absent).map(({ item, message }) =>
    problemAt(manifest, pathOf(planned, item), message),
  );
  const { readyCondition } = decide(resource, resolutions, target);
  // Without a list it is not known which keys rules make up.
  const isKnown = resolved !== undefined || resource.finds.length === 0;
  const ofTarget = targetProblems(readyCondition, isKnown && ofItems.length === 0);
  return [
    ...ofItems,
    ...ofTarget.map((message) => problemAt(manifest, ["spec", "target"], message)),
    ...checkTemplates(planned, resource, resolved !== undefined),
  ];
}

/**
 * Returns the problems of the templates of a resource: syntax, and names that none of its sources
 * has.
 */
function checkTemplates(
  { manifest }: PlannedResource,
  resource: SyncResource,
  isResolved: boolean,
): readonly Problem[] {
  const { template, items, finds } = resource;
  if (template === undefined) return [];
  const hasKnownNames =
    items.every(({ isExtracted }) => isExtracted !== true) && (isResolved || finds.length === 0);
  const names = hasKnownNames ? new Set(items.map(({ id }) => id)) : undefined;
  return checkTemplate(template, names).map(({ key, message }) =>
    problemAt(manifest, ["spec", "target", "template", "data", key], message),
  );
}
