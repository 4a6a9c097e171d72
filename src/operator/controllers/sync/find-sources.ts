import { claimedKeys, type EarlierName, findItems, foundName } from "../../sync/find-items.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import { type Find, isMerged } from "../../sync/sync-resource.ts";
import { reportedKeys, reportedName } from "../../sync/stored-status.ts";
import { showsTarget } from "../../sync/sync-status.ts";
import {
  type Claims,
  idsOfEntries,
  ownClaims,
  type TargetState,
  targetState,
} from "../../sync/target.ts";
import { patternReference } from "../../vault-client/pattern.ts";
import type { FormerTarget } from "./target-records.ts";
import { checkAccess } from "../../sync/namespace-access.ts";
import type { Listed, Observed } from "./stages.ts";

/**
 * Reports whether the snapshot says which entries each rule finds and whether each source exists.
 */
export function isCovered({
  source,
  resource,
  snapshot,
}: Pick<Listed, "source" | "resource" | "snapshot">): boolean {
  const { items, finds } = resource;
  return (
    items.every((item) => source.covers(snapshot, item)) &&
    finds.every(({ pattern }) => snapshot.covers(source.entries, patternReference(pattern)))
  );
}

/**
 * Reports whether only the status says what the resource had: an object that is handed over, or
 * that nothing was merged into so far, has nothing of it.
 */
const hasNoClaims = ({ before }: Listed, state: TargetState): boolean =>
  state.state === "owned" &&
  state.annotationsCorrupted &&
  state.adoption === undefined &&
  before.target?.digest !== undefined;

/**
 * Reports whether a tool removed the annotations of the target that the status shows. Until another
 * target is in sync, that is the former one. An object without both marks of a resource that merges
 * into it has nothing of that resource: a user created it again.
 */
function lostClaims(input: Listed, state: TargetState): boolean {
  const { resource, before } = input;
  if (state.state !== "owned" || !hasNoClaims(input, state)) return false;
  const isNew = isMerged(resource) && !state.hasMetadata && state.content === undefined;
  return showsTarget(before, resource) && !isNew;
}

/**
 * Returns the names that a rule found, according to the targets of a resource: its target, and
 * former ones. A secret that is gone is missing in the next target too.
 */
function claimedBefore(
  find: Find,
  all: readonly Claims[],
  isListed: (name: string) => boolean,
): EarlierName[] {
  const known = new Set<string>();
  return all.flatMap((claims) => {
    const found = claimedKeys(find, claims, isListed).filter(({ name }) => !known.has(name));
    for (const { name } of found) known.add(name);
    return found;
  });
}

/**
 * Returns the names that a rule found, according to the status, and that are gone, while a target
 * has their bytes under a key of an earlier spec: they leave it with the entry.
 */
function keptUnderOtherKeys(
  { access, before }: Listed,
  all: readonly Claims[],
  find: Find,
  isListed: (name: string) => boolean,
): EarlierName[] {
  return reportedKeys(before, find).filter(({ name }) => {
    if (isListed(name)) return false;
    const ids = idsOfEntries(access.vault, name, [undefined, access.account]);
    return all.some((claims) => claims.values().some(({ source }) => ids.has(source)));
  });
}

/**
 * Adds the entries that rules find to the items of a resource, among those that its namespace may
 * read. Returns the condition instead if one of them may not be read any more. `formerTargets` returns
 * the former targets that are still there.
 */
export function findSources(
  input: Listed,
  state: TargetState,
  formerTargets: () => readonly FormerTarget[],
): Observed | ReadyCondition {
  const { source, resource, before, access, grant, snapshot } = input;
  const formers = (): TargetState[] =>
    formerTargets().map(({ former, metadata }) => targetState(former, metadata));
  if (resource.finds.length === 0)
    return { ...input, state, formers, unmatched: [], unusable: [], successors: new Map() };
  const isLost = lostClaims(input, state);
  const claims = ownClaims([state, ...formers()]);
  // Not because a stranger shares the name.
  const isListed = (name: string): boolean => source.isListed(snapshot, name, { trust: access });
  const found = findItems(resource, {
    now: (find) =>
      source
        .names(snapshot, find, access)
        .filter(({ name }) => typeof grant === "function" && grant(source.entries, name)),
    earlier: (find: Find) => [
      ...claimedBefore(find, claims, isListed),
      // A status is all that is known if the annotations of the target are lost.
      ...(isLost ? reportedKeys(before, find) : keptUnderOtherKeys(input, claims, find, isListed)),
    ],
    served: (key) => {
      if (state.state === "owned" && !hasNoClaims(input, state))
        return foundName(state.synced.get(key));
      const claim = claims.map((one) => one.get(key)).find((one) => one !== undefined);
      return foundName(claim) ?? reportedName(before, key);
    },
  });
  const { items, ...others } = found;
  const expanded = { ...resource, items };
  const verdict = checkAccess(expanded, source.entries, grant);
  if (typeof verdict === "object") return verdict;
  return { ...input, ...others, state, formers, resource: expanded };
}
