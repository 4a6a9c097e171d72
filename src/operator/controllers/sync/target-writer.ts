import { MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { bytesDigest, contentDigest, keysDigest, readContent } from "../../sync/content.ts";
import type { Entry, Plan } from "../../sync/decide.ts";
import { inputsOf } from "../../sync/derive.ts";
import { heldAdoption } from "../../sync/held-adoption.ts";
import { hasShape } from "../../sync/secret-shape.ts";
import type { Report } from "../../sync/report.ts";
import { mergeManager } from "../../sync/merged-claims.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import {
  type SyncedKey,
  type TargetMetadata,
  type TargetState,
  targetState,
} from "../../sync/target.ts";
import { writeFailure } from "./write-failure.ts";
import {
  type CurrentTarget,
  type Gathered,
  type GatherInput,
  NO_TARGET,
} from "./gather-content.ts";
import { newContent } from "./new-content.ts";
import { deleteTarget } from "./release-target.ts";
import { renderMerge, renderPatch, renderTarget, type Rendering } from "./render-target.ts";
import { repairDelay } from "../outcome/repair-count.ts";
import { calmDelay } from "./repairs.ts";
import { DONE, type Failure, waitFor } from "../outcome/outcome.ts";
import { failed, type Reported } from "./sync-result.ts";
import { targetDescriptor, targetMetadata } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

export interface TargetWriterOptions extends Pick<GatherInput, "contentKey" | "limits"> {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
  readonly clock: Pick<Clock, "monotonic">;
}

/** Everything a plan was decided for. */
export interface PlanContext {
  readonly resource: SyncResource;
  /** Descriptor of the resource's kind. */
  readonly owner: ResourceDescriptor;
  /** The target that the plan was decided for, and what is known about its content. */
  readonly state: TargetState;
  readonly current: CurrentTarget;
  /**
   * The spec has changed since the last reconcile: a difference in the target need not be a change
   * of another writer.
   */
  readonly isNewSpec: boolean;
  /** The report of a plan that changes nothing. */
  readonly report: Report;
  readonly signal: AbortSignal;
  /** Ends the reads of the vault, also when the access of the resource changes. */
  readonly reads: AbortSignal;
}

type OwnedTarget = Extract<TargetState, { readonly state: "owned" }>;

/** Returns the origins of the bytes of one key. */
const originOf = (
  resource: SyncResource,
  { synced }: OwnedTarget,
  key: string,
): readonly SyncedKey[] => inputsOf(resource, key).flatMap(({ id }) => synced.get(id) ?? []);

/** Executes plans: reads, writes and deletes targets; see docs/design/engine.md#target-writes. */
export class TargetWriter {
  readonly #options: TargetWriterOptions;

  constructor(options: TargetWriterOptions) {
    this.#options = options;
  }

  /**
   * Returns what the plan has to know about the content of the target. Reads it unless that is
   * known already. Returns the metadata `now` if the target is no longer the one that the plan was
   * decided for; another owner may have taken it.
   */
  async read(
    { action }: Plan,
    resource: SyncResource,
    state: TargetState,
    signal: AbortSignal,
  ): Promise<CurrentTarget | { readonly now: TargetMetadata | undefined }> {
    const { api, targets } = this.#options;
    if (state.state !== "owned" || action === "keep" || action === "delete") return NO_TARGET;
    const keys = targets.verifiedKeys(resource);
    const isPatched =
      action === "write" &&
      state.hasMetadata &&
      keys !== undefined &&
      !isMerged(resource) &&
      !hasShape(resource);
    const isKnown = action === "verify" || isPatched;
    if (isKnown && targets.isVerified(resource, state))
      return { ...NO_TARGET, keys: keys ?? NO_TARGET.keys, trusted: true };
    const { kind, name } = resource.target;
    const object = await api
      .get(targetDescriptor[kind], { namespace: resource.namespace, name }, signal)
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
      });
    if (object === undefined) {
      targets.recordDelete(resource, state.uid);
      return { now: undefined };
    }
    const { uid, resourceVersion } = object.metadata;
    if (uid !== state.uid || resourceVersion !== state.resourceVersion)
      return { now: targetMetadata(object) };
    return this.#read(resource, state, object);
  }

  /**
   * @throws KubeError when the request itself failed, and for the conflicts that the caller
   * resolves
   */
  async apply(plan: Plan, context: PlanContext): Promise<Reported> {
    const { resource, report, state } = context;
    try {
      switch (plan.action) {
        case "keep":
          return { report, next: DONE };
        case "verify":
          return await this.#verify(plan.entries, context);
        case "repair":
          return await this.#write(plan.entries, "repaired", context);
        case "write":
          return await this.#write(plan.entries, "updated", context);
        case "delete":
          return await this.#remove(undefined, context);
      }
    } catch (error) {
      const failure = writeFailure(error, resource);
      if (failure === undefined) throw error;
      return failed(report, failure, state.state === "owned");
    }
  }

  /** Deletes the target, whose content cannot be made because of `failure`. */
  async #remove(
    failure: Failure | undefined,
    { resource, state, report, signal }: PlanContext,
  ): Promise<Reported> {
    if (state.state === "owned") await deleteTarget(this.#options, resource, state, signal);
    const done = { ...report, effect: "deleted", changed: true, versions: new Map() } as const;
    return failure === undefined ? { report: done, next: DONE } : failed(done, failure, false);
  }

  /**
   * Leaves a target unchanged that has the content which its annotations claim, and repairs any
   * other.
   */
  async #verify(entries: readonly Entry[], context: PlanContext): Promise<Reported> {
    const { resource, state, current, report } = context;
    const isRight =
      current.trusted &&
      (current.object === undefined || hasRequiredMetadata(resource, current.object));
    if (state.state !== "owned" || !isRight) return this.#write(entries, "repaired", context);
    const { resourceVersion } = state;
    const { targets, clock } = this.#options;
    const repairs = targets.repairs(resource);
    const delay = calmDelay(repairs, clock.monotonic());
    const digest =
      current.keys.size > 0 ? keysDigest(this.#options.contentKey, current.keys) : undefined;
    const verified = { ...report, verified: resourceVersion, digest };
    if (repairs === undefined || delay === 0) return { report: verified, next: DONE };
    return {
      report: { ...verified, readyCondition: repairs.condition },
      next: waitFor("target", delay),
    };
  }

  /**
   * Writes the target, unless its content cannot be assembled now or must not replace the current
   * one.
   */
  async #write(
    entries: readonly Entry[],
    wanted: "updated" | "repaired",
    context: PlanContext,
  ): Promise<Reported> {
    const { resource, state, current, report, reads } = context;
    const { targets, contentKey, limits, clock } = this.#options;
    const verified = targets.verifiedKeys(resource);
    const input = { resource, state, current, verified, contentKey, limits, signal: reads };
    const { content: gathered, failure } = await newContent(entries, input, report);
    if (gathered === "unchanged") return failed(report, failure, state.state === "owned");
    if (gathered === "none") return this.#remove(failure, context);

    const keys = new Map(gathered.keys.map((key) => [key.targetKey, key.state]));
    const removed = [...current.keys.keys()].filter((key) => !keys.has(key));
    const objection = heldAdoption(resource, state, removed);
    if (objection !== undefined)
      return { report: { ...report, readyCondition: objection }, next: DONE };

    const { problem } = gathered;
    const base = { ...report, versions: versionsOf(gathered, report) };
    const after = (next: Report): Reported => {
      if (failure !== undefined) return failed(next, failure, true);
      if (problem === undefined) return { report: next, next: DONE };
      return { report: { ...next, readyCondition: problem.condition }, next: problem.next };
    };
    const canPatch = isPatchable(context);
    if (canPatch && removed.length === 0 && gathered.fetched.size === 0) return after(base);

    const rendering = this.#rendering(context, gathered);
    const changes = gathered.keys.filter(({ isNew }) => isNew).map(({ targetKey }) => targetKey);
    const written = await (canPatch
      ? this.#patch(rendering, changes, removed, context)
      : this.#send(rendering, context));
    const isAccepted = this.#isAsSent(rendering, context, written);
    const effect = state.state === "absent" ? "created" : context.isNewSpec ? "updated" : wanted;
    const changed =
      keys.size !== current.keys.size ||
      [...keys].some(([key, { digest }]) => current.keys.get(key)?.digest !== digest);
    const isRepair =
      state.state === "owned" && !context.isNewSpec && (!current.trusted || wanted === "repaired");
    const repairs = targets.recordWrite(resource, written, isAccepted ? keys : undefined, isRepair);
    const done = { ...base, effect, changed } as const;
    // An accepted write long after the last repair ends the contest.
    const delay = (isAccepted ? calmDelay : repairDelay)(repairs, clock.monotonic());
    if (repairs !== undefined && delay > 0) {
      return {
        report: { ...done, readyCondition: repairs.condition },
        next: waitFor("target", delay),
      };
    }
    return after({
      ...done,
      verified: written.metadata.resourceVersion,
      digest: keysDigest(contentKey, keys),
    });
  }

  #rendering({ resource, owner }: PlanContext, { keys, claims: synced }: Gathered): Rendering {
    const digests = new Map(keys.map(({ targetKey, state }) => [targetKey, state]));
    const type =
      isMerged(resource) || resource.target.kind !== "Secret"
        ? undefined
        : (resource.target.type ?? "Opaque");
    const digest = contentDigest(this.#options.contentKey, { type, keys: digests, synced });
    const content = new Map(
      keys.flatMap(({ targetKey, bytes }) =>
        bytes === undefined ? [] : [[targetKey, bytes] as const],
      ),
    );
    return { resource, owner, content, digest, synced };
  }

  /** Sends the whole target. */
  #send(
    rendering: Rendering,
    { state, current, resource, signal }: PlanContext,
  ): Promise<KubeObject> {
    const { api } = this.#options;
    const descriptor = targetDescriptor[resource.target.kind];
    if (isMerged(resource) && state.state === "owned") {
      return api.apply(
        descriptor,
        renderMerge(rendering, state),
        { fieldManager: mergeManager(resource) },
        signal,
      );
    }
    if (state.state !== "owned")
      return api.create(descriptor, renderTarget(rendering, undefined), signal);
    return api.replace(descriptor, renderTarget(rendering, current.object?.metadata), signal);
  }

  /** Sends only what changes, because the rest is known to be right. */
  #patch(
    rendering: Rendering,
    changed: readonly string[],
    removed: readonly string[],
    context: PlanContext,
  ): Promise<KubeObject> {
    const { resource, state, signal } = context;
    const { namespace, target } = resource;
    const { uid, resourceVersion } = state.state === "owned" ? state : {};
    const ref = { namespace, name: target.name, uid, resourceVersion };
    return this.#options.api.patch(
      targetDescriptor[target.kind],
      ref,
      renderPatch(rendering, changed, removed),
      signal,
    );
  }

  /**
   * Returns what an object of the API server contains, and whether it is what the operator wrote.
   */
  #read(resource: SyncResource, state: OwnedTarget, object: KubeObject): CurrentTarget {
    const { targets, contentKey } = this.#options;
    const merged = isMerged(resource);
    const all = readContent(resource.target.kind, object);
    const own = state.mergedKeys ?? state.synced;
    const content = merged ? new Map([...all].filter(([key]) => own.has(key))) : all;
    const digests = new Map(
      [...content].map(([key, bytes]) => [key, bytesDigest(contentKey, bytes)]),
    );
    const type = typeof object.type === "string" && !merged ? object.type : undefined;
    const digest = contentDigest(contentKey, { type, keys: digests, synced: state.synced });
    const trusted = digest === state.content && !state.annotationsCorrupted;
    const keys = new Map(
      [...digests].map(([key, one]) => [
        key,
        { ...one, origin: trusted ? originOf(resource, state, key) : [] },
      ]),
    );
    if (trusted && hasRequiredMetadata(resource, object))
      targets.markVerified(resource, object.metadata, keys);
    return { object, content, keys, trusted };
  }

  /** Reports whether the API server stored what was sent: admission may have changed it. */
  #isAsSent(rendering: Rendering, { resource }: PlanContext, written: KubeObject): boolean {
    if (isMerged(resource) && rendering.content.size === 0) return true;
    const state = targetState(resource, targetMetadata(written));
    if (state.state !== "owned" || state.content !== rendering.digest || !state.hasMetadata)
      return false;
    return this.#read(resource, state, written).trusted && hasRequiredMetadata(resource, written);
  }
}

/**
 * Returns the versions to report: those of kept items only if their bytes are of the source that is
 * requested now.
 */
function versionsOf({ claims, fetched }: Gathered, { versions }: Report): Map<string, number> {
  const shown = [...claims].filter(([id]) => fetched.has(id) || versions.has(id));
  return new Map(shown.map(([id, { version }]) => [id, version]));
}

/** Reports whether everything that a patch does not contain is known to be right. */
function isPatchable({ resource, state, current }: PlanContext): boolean {
  if (isMerged(resource)) return false;
  const hasMetadata = current.object === undefined || hasRequiredMetadata(resource, current.object);
  return state.state === "owned" && state.hasMetadata && current.trusted && hasMetadata;
}

/**
 * Reports whether the watch can see the object (it selects by label), whether its type, which
 * cannot be changed, is the requested one, and whether it is immutable if it should be.
 */
function hasRequiredMetadata(resource: SyncResource, object: KubeObject): boolean {
  if (isMerged(resource)) return true;
  const { target, policy } = resource;
  const hasType = target.kind !== "Secret" || object.type === (target.type ?? "Opaque");
  const isImmutable = object.immutable === true || !policy.immutable;
  return hasType && isImmutable && object.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
}
