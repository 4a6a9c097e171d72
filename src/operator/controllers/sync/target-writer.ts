import { MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Clock } from "../../../lib/clock.ts";
import { ifFound, isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { bytesDigests, contentDigest, keysDigest, readContent } from "../../sync/content.ts";
import type { Entry, Plan } from "../../sync/decide.ts";
import { inputsOf } from "../../sync/derive.ts";
import { heldAdoption } from "../../sync/held-adoption.ts";
import { hasShape } from "../../sync/secret-shape.ts";
import type { KeyState } from "../../sync/review-content.ts";
import type { Report } from "../../sync/report.ts";
import { isMerged, type SyncResource } from "../../sync/sync-resource.ts";
import { hadTarget } from "../../sync/sync-status.ts";
import {
  type SyncedKey,
  type TargetMetadata,
  type TargetState,
  targetState,
} from "../../sync/target.ts";
import { isNewSpec } from "../../sync/update-gate.ts";
import { writeFailure } from "./write-failure.ts";
import type { Gathered } from "./gather-content.ts";
import { isMergedAlready, keepRequired } from "./keep-required.ts";
import { type Assembled, newContent } from "./new-content.ts";
import { deleteTarget, removeGoneFromTarget } from "./release-target.ts";
import { mergeKeys } from "./merge-keys.ts";
import { renderPatch, renderTarget, type Rendering } from "./render-target.ts";
import { repairDelay } from "../outcome/repair-count.ts";
import { calmDelay, type Repairs } from "./repairs.ts";
import { DONE, type Failure, waitFor } from "../outcome/outcome.ts";
import { failed, type Reported, targetChanged } from "./sync-result.ts";
import {
  type Assembling,
  type CurrentTarget,
  NO_TARGET,
  type Observed,
  type Planned,
} from "./stages.ts";
import { targetDescriptor, targetMetadata } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

export interface TargetWriterOptions extends Pick<Assembling, "contentKey" | "limits"> {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
  readonly clock: Pick<Clock, "monotonic">;
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
   * Returns what the plan has to know about the content of the target. Reads the content unless it
   * is known already. Returns the metadata `now` if the target has changed since the plan was
   * decided: another owner may have taken it.
   */
  async read(
    { action }: Plan,
    { resource, before, state, signal }: Observed,
  ): Promise<CurrentTarget | { readonly now: TargetMetadata | undefined }> {
    const { api, targets } = this.#options;
    if (state.state !== "owned" || action === "keep" || action === "delete") return NO_TARGET;
    const verified = this.#verified(action, { resource, before, state });
    if (verified !== undefined) return verified;
    const { kind, name } = resource.target;
    const ref = { namespace: resource.namespace, name };
    const object = await ifFound(api.get(targetDescriptor[kind], ref, signal));
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
   * Returns the content that was verified before, if the plan needs no bytes of it, and the status
   * no digest of them: a process that trusted an earlier status has not read them.
   */
  #verified(
    action: Plan["action"],
    { resource, before, state }: Pick<Observed, "resource" | "before"> & { state: OwnedTarget },
  ): CurrentTarget | undefined {
    const { targets } = this.#options;
    const keys = targets.verifiedKeys(resource);
    const isPatched =
      action === "write" &&
      state.hasMetadata &&
      keys !== undefined &&
      !isMerged(resource) &&
      !hasShape(resource);
    const isShown = keys !== undefined || hadTarget(before);
    const isKnown =
      isShown && (action === "verify" || isPatched) && targets.isVerified(resource, state);
    return isKnown ? { ...NO_TARGET, keys: keys ?? NO_TARGET.keys, trusted: true } : undefined;
  }

  /**
   * @throws KubeError when the request itself failed, and for the conflicts that the caller
   * resolves
   */
  async apply(planned: Planned): Promise<Reported> {
    const { resource, report, state } = planned;
    const { plan } = planned.decision;
    try {
      switch (plan.action) {
        case "keep":
          return { report, next: DONE };
        case "verify":
          return await this.#verify(plan.entries, planned);
        case "repair":
          return await this.#write(plan.entries, "repaired", planned);
        case "write":
          return await this.#write(plan.entries, "updated", planned);
        case "delete":
          return await this.#remove(undefined, planned);
      }
    } catch (error) {
      const failure = writeFailure(error, resource);
      if (failure === undefined || !isKubeError(error)) throw error;
      const removed = await removeGoneFromTarget(this.#options, planned, error, failure);
      if (removed === undefined) return failed(report, failure, state.state === "owned");
      const isDeleted = removed.effect === "deleted";
      const { next } = isDeleted ? targetChanged("the target was removed") : failure;
      return failed({ ...report, ...removed, changed: true }, { ...failure, next }, false);
    }
  }

  /** Deletes the target, whose content cannot be made because of `failure`. */
  async #remove(
    failure: Failure | undefined,
    { resource, state, report, signal }: Planned,
  ): Promise<Reported> {
    if (state.state === "owned") await deleteTarget(this.#options, resource, state, signal);
    const nothing = { versions: new Map(), ofOtherVault: NO_ITEMS, unconfirmed: NO_ITEMS };
    const done = { ...report, ...nothing, effect: "deleted", changed: true } as const;
    return failure === undefined ? { report: done, next: DONE } : failed(done, failure, false);
  }

  /**
   * Leaves a target unchanged that has the content which its annotations claim, and repairs any
   * other.
   */
  async #verify(entries: readonly Entry[], planned: Planned): Promise<Reported> {
    const { resource, state, current, report } = planned;
    const isRight =
      current.trusted &&
      (current.object === undefined || hasRequiredMetadata(resource, current.object));
    if (state.state !== "owned" || !isRight) return this.#write(entries, "repaired", planned);
    const { targets, clock, contentKey } = this.#options;
    const digest = current.keys.size > 0 ? keysDigest(contentKey, current.keys) : undefined;
    const verified = { ...report, verified: state.resourceVersion, digest };
    const repairs = targets.repairs(resource);
    return (
      contested(verified, repairs, calmDelay(repairs, clock.monotonic())) ?? {
        report: verified,
        next: DONE,
      }
    );
  }

  /**
   * Writes the target, unless its content cannot be assembled now or must not replace the current
   * one.
   */
  async #write(
    entries: readonly Entry[],
    effect: "updated" | "repaired",
    planned: Planned,
  ): Promise<Reported> {
    const { resource, state, current, report } = planned;
    const { targets, contentKey, limits } = this.#options;
    const verified = targets.verifiedKeys(resource);
    const assembling = { ...planned, verified, contentKey, limits };
    const { content, failure } = await newContent(entries, assembling);
    if (content === "unchanged") return failed(report, failure, state.state === "owned");
    if (content === "none") return this.#remove(failure, planned);
    const change = changeOf(keepRequired({ content, failure }, planned), current);
    const objection = heldAdoption(resource, state, change.removed);
    if (objection !== undefined)
      return { report: { ...report, readyCondition: objection }, next: DONE };
    const isComplete = change.removed.length === 0 && change.content.fetched.size === 0;
    if (isComplete && (isPatchable(planned) || isMergedAlready(change.content, planned)))
      return concluded(unwritten(change, report), change);
    return this.#store(change, effect, planned);
  }

  /** Sends a change of the target, and records what the API server made of it. */
  async #store(
    change: Change,
    effect: "updated" | "repaired",
    planned: Planned,
  ): Promise<Reported> {
    const { resource, state, current, report } = planned;
    const { targets, contentKey, clock } = this.#options;
    const rendering = this.#rendering(planned, change.content);
    using _inFlight = targets.beginWrite(resource);
    const written = await (isPatchable(planned)
      ? this.#patch(rendering, change, planned)
      : this.#send(rendering, planned));
    const isAccepted = this.#isAsSent(rendering, planned, written);
    const isRepair =
      state.state === "owned" && !isNewSpec(planned) && (!current.trusted || effect === "repaired");
    const keys = isAccepted ? change.keys : undefined;
    const repairs = targets.recordWrite(resource, written, keys, isRepair);
    const done = {
      ...unwritten(change, report),
      effect: state.state === "absent" ? "created" : isNewSpec(planned) ? "updated" : effect,
      changed: change.isDifferent,
    } as const;
    // An accepted write long after the last repair ends the contest.
    const delay = (isAccepted ? calmDelay : repairDelay)(repairs, clock.monotonic());
    const verified = written.metadata.resourceVersion;
    const digest = keysDigest(contentKey, change.keys);
    return contested(done, repairs, delay) ?? concluded({ ...done, verified, digest }, change);
  }

  #rendering({ resource, source }: Planned, { keys, claims: synced }: Gathered): Rendering {
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
    return { resource, owner: source.descriptor, content, digest, synced };
  }

  /** Sends the whole target. */
  #send(rendering: Rendering, planned: Planned): Promise<KubeObject> {
    const { state, current, resource, signal } = planned;
    const { api } = this.#options;
    const descriptor = targetDescriptor[resource.target.kind];
    if (isMerged(resource) && state.state === "owned")
      return mergeKeys(api, rendering, state, planned);
    if (state.state !== "owned")
      return api.create(descriptor, renderTarget(rendering, undefined), signal);
    return api.replace(descriptor, renderTarget(rendering, current.object?.metadata), signal);
  }

  /** Sends only what changes, because the rest is known to be right. */
  #patch(
    rendering: Rendering,
    { added, removed }: Change,
    { resource, state, signal }: Planned,
  ): Promise<KubeObject> {
    const { namespace, target } = resource;
    const { uid, resourceVersion } = state.state === "owned" ? state : {};
    const ref = { namespace, name: target.name, uid, resourceVersion };
    return this.#options.api.patch(
      targetDescriptor[target.kind],
      ref,
      renderPatch(rendering, added, removed),
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
    const digests = bytesDigests(contentKey, content);
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
  #isAsSent(rendering: Rendering, { resource }: Planned, written: KubeObject): boolean {
    if (isMerged(resource) && rendering.content.size === 0) return true;
    const state = targetState(resource, targetMetadata(written));
    if (state.state !== "owned" || state.content !== rendering.digest || !state.hasMetadata)
      return false;
    return this.#read(resource, state, written).trusted && hasRequiredMetadata(resource, written);
  }
}

/** The difference between the content that a target is to have and the one that it has. */
interface Change extends Assembled {
  readonly keys: ReadonlyMap<string, KeyState>;
  /** Keys whose bytes are new. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly isDifferent: boolean;
}

function changeOf(assembled: Assembled, current: CurrentTarget): Change {
  const { content } = assembled;
  const keys = new Map(content.keys.map((key) => [key.targetKey, key.state]));
  return {
    ...assembled,
    keys,
    added: content.keys.filter(({ isNew }) => isNew).map(({ targetKey }) => targetKey),
    removed: [...current.keys.keys()].filter((key) => !keys.has(key)),
    isDifferent:
      keys.size !== current.keys.size ||
      [...keys].some(([key, { digest }]) => current.keys.get(key)?.digest !== digest),
  };
}

const NO_ITEMS: ReadonlySet<string> = new Set();

/** Returns the report of content that the target is to have, before it is written. */
function unwritten({ content }: Assembled, report: Report): Report {
  const isKept = (id: string): boolean => content.claims.has(id) && !content.fetched.has(id);
  return {
    ...report,
    versions: versionsOf(content, report),
    certificates: content.certificates ?? report.certificates,
    ofOtherVault: new Set([...report.ofOtherVault].filter(isKept)),
    unconfirmed: new Set([...report.unconfirmed].filter(isKept)),
  };
}

/** Returns the result for a target that others change too; `undefined` if it need not wait. */
function contested(
  report: Report,
  repairs: Repairs | undefined,
  delayMs: number,
): Reported | undefined {
  if (repairs === undefined || delayMs === 0) return undefined;
  return {
    report: { ...report, readyCondition: repairs.condition },
    next: waitFor("target", delayMs),
  };
}

/**
 * Returns the result for a target that has its content: parts that the content lacks are tried
 * again.
 */
function concluded(report: Report, { content: { problem }, failure }: Assembled): Reported {
  if (failure !== undefined) return failed(report, failure, true);
  if (problem === undefined) return { report, next: DONE };
  return { report: { ...report, readyCondition: problem.condition }, next: problem.next };
}

/**
 * Returns the versions to report. A kept item has one only if its bytes are from the source that is
 * requested now.
 */
function versionsOf({ claims, fetched }: Gathered, { versions }: Report): Map<string, number> {
  const shown = [...claims].filter(([id]) => fetched.has(id) || versions.has(id));
  return new Map(shown.map(([id, { version }]) => [id, version]));
}

/** Reports whether everything that a patch does not contain is known to be right. */
function isPatchable({ resource, state, current }: Planned): boolean {
  if (isMerged(resource)) return false;
  const hasMetadata = current.object === undefined || hasRequiredMetadata(resource, current.object);
  return state.state === "owned" && state.hasMetadata && current.trusted && hasMetadata;
}

/**
 * Reports whether the watch can see the object (it selects by label), whether it has the requested
 * type, and whether it is immutable if it should be. A type cannot be changed.
 */
function hasRequiredMetadata(resource: SyncResource, object: KubeObject): boolean {
  if (isMerged(resource)) return true;
  const { target, policy } = resource;
  const hasType = target.kind !== "Secret" || object.type === (target.type ?? "Opaque");
  const isImmutable = object.immutable === true || !policy.immutable;
  return hasType && isImmutable && object.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
}
