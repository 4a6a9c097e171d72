import {
  type Entry,
  MAX_TARGET_BYTES,
  outweighsOthers,
  targetName,
  tooLarge,
} from "../../sync/decide.ts";
import { areOverdue, droppedFrom, goneClaims, isDropped } from "../../sync/gone-claims.ts";
import { isOfOtherSpec } from "../../sync/item-form.ts";
import {
  lackingSources,
  notReady,
  type ReadyCondition,
  readyConditionOf,
  unproven,
  withoutRest,
} from "../../sync/ready-condition.ts";
import type { Report } from "../../sync/report.ts";
import { missingKeys } from "../../sync/required-keys.ts";
import type { Resolution } from "../../sync/resolution.ts";
import { shapeProblem } from "../../sync/secret-shape.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import { gatherContent, type Gathered, keptKeys, NO_CONTENT } from "./gather-content.ts";
import type { Assembling } from "./stages.ts";
import { DONE, type Failure, lasting } from "../outcome/outcome.ts";
import { rejected } from "./sync-result.ts";

/** Content that a target is to have. `failure` says why it is not what the spec requests. */
export interface Assembled {
  readonly content: Gathered;
  readonly failure?: Failure | undefined;
}

/**
 * The content that a target is to have: `unchanged` keeps what it has, `none` removes the target.
 * `failure` is the reason why it is not what the spec requests.
 */
type NewContent = Assembled | { readonly content: "unchanged" | "none"; readonly failure: Failure };

/**
 * Returns the content that is made of `entries`. If there is none, the bytes of sources that are
 * gone leave the target nevertheless: it keeps what it has of the remaining sources, and is removed
 * if that is not valid or cannot be distinguished. See docs/design/engine.md#removals.
 */
export async function newContent(
  entries: readonly Entry[],
  input: Assembling,
): Promise<NewContent> {
  const { resource, state, report } = input;
  const { resolutions = [] } = report;
  const gathered = checked(await gatherContent(entries, input), resource, report);
  if (!("condition" in gathered)) return { content: gathered };
  const dropped = droppedFrom(resolutions, state);
  if (dropped.length > 0) return remainingContent(dropped, gathered, input);
  const hasContent = state.state === "owned" && (state.synced.size > 0 || !isMerged(resource));
  const isGone = !hasContent && resolutions.some(isDropped);
  const failure = isGone ? withoutTarget(gathered, resource, resolutions) : gathered;
  return { content: "unchanged", failure };
}

/** Returns what remains of a target without the sources that are gone, because of `failure`. */
function remainingContent(
  dropped: readonly Resolution[],
  failure: Failure,
  input: Assembling,
): NewContent {
  const { resource, report } = input;
  const { resolutions = [] } = report;
  const { rest, isExact } = contentWithout(dropped, input);
  const isWaiting = failure.next.outcome === "retry" && !areOverdue(dropped);
  const isUnchanged = !isExact && (isWaiting || !outweighsOthers(resource, resolutions, dropped));
  if (isUnchanged) return { content: "unchanged", failure };
  if (rest !== undefined) return { content: rest, failure };
  const gone = withoutTarget(failure, resource, resolutions);
  return isMerged(resource)
    ? { content: NO_CONTENT, failure: gone }
    : { content: "none", failure: gone };
}

/** Returns content that the target may have, or the failure. */
function checked(
  gathered: Gathered | "unavailable" | Failure,
  resource: SyncResource,
  report: Report,
): Gathered | Failure {
  if (gathered === "unavailable") return unavailable(report);
  if ("condition" in gathered) return withMissing(gathered, report);
  const size = gathered.keys.reduce((sum, key) => sum + key.state.size, 0);
  if (size > MAX_TARGET_BYTES) {
    const { reason, message } = tooLarge(size);
    return lasting(reason, message, DONE);
  }
  const problem = shapeOf(resource, gathered);
  return problem === undefined ? gathered : (gathered.problem ?? rejected(problem));
}

/** Returns the failure to make a target of some of its sources: what lacks keys may be missing. */
function withMissing(failure: Failure, { readyCondition }: Report): Failure {
  const condition = lackingSources(failure.condition, readyCondition);
  return condition === failure.condition
    ? failure
    : { ...failure, condition, why: failure.condition.message };
}

/**
 * Returns the condition for content that the type of the target does not allow. Only a repair of
 * metadata does not have all bytes.
 */
function shapeOf(resource: SyncResource, { keys }: Gathered): ReadyCondition | undefined {
  const content = keys.flatMap(({ targetKey, bytes }) =>
    bytes === undefined ? [] : [[targetKey, bytes] as const],
  );
  return content.length === keys.length ? shapeProblem(resource, new Map(content)) : undefined;
}

/**
 * Returns the failure for a target that cannot be written, because the bytes of a source are not
 * available.
 */
function unavailable({ readyCondition, resolutions = [] }: Report): Failure {
  const known = readyCondition?.ready === false ? readyCondition : undefined;
  if (known !== undefined) return { condition: known, next: DONE, why: "" };
  return { condition: unproven(resolutions, "the target"), next: DONE };
}

/**
 * Returns what the target has without the sources that are gone, if the spec that made it is the
 * current one and what is left is valid. It is not exact if other sources lose their keys too: the
 * target does not show which member belongs to which extracted object.
 */
function contentWithout(
  dropped: readonly Resolution[],
  { resource, state, current }: Assembling,
): { readonly rest?: Gathered; readonly isExact: boolean } {
  if (state.state !== "owned" || !current.trusted || resource.template !== undefined)
    return { isExact: false };
  const { synced } = state;
  const gone = goneClaims(dropped, synced);
  if ([...gone].some(([id, { item }]) => isOfOtherSpec(item, synced.get(id))))
    return { isExact: false };
  const losesMembers = dropped.some(({ item }) => item.isExtracted === true);
  const names = [...current.keys.keys()].filter(
    (key) => !gone.has(key) && (synced.has(key) || !losesMembers),
  );
  const claims = new Map(
    [...synced].filter(([id]) => !gone.has(id) && (current.keys.has(id) || !losesMembers)),
  );
  const isValid = names.length > 0 && missingKeys(resource, names).length === 0;
  const isExact = claims.size === synced.size - gone.size && (isValid || claims.size === 0);
  return isValid
    ? { rest: { keys: keptKeys(names, current), claims, fetched: new Set() }, isExact }
    : { isExact };
}

/**
 * Returns the failure for a target that does not exist without the sources that are gone. It is the
 * same before and after its removal.
 */
function withoutTarget(
  failure: Failure,
  resource: SyncResource,
  resolutions: readonly Resolution[],
): Failure {
  const { condition, next, why = condition.message } = failure;
  if (next.outcome === "retry") return failure;
  const problems = readyConditionOf(
    resolutions,
    isMerged(resource) ? undefined : targetName(resource),
  );
  if (problems.ready)
    return {
      condition: notReady(
        condition.reason,
        `${why}; there is no target, because optional sources are absent`,
      ),
      next,
    };
  return { condition: why === "" ? problems : withoutRest(problems, why), next };
}
