import { MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { type Content, contentDigest, isSameContent, readContent } from "../../sync/content.ts";
import type { Entry, Plan } from "../../sync/decide.ts";
import type { ReadyCondition } from "../../sync/ready-condition.ts";
import type { Candidate } from "../../sync/resolve.ts";
import { reviewContent } from "../../sync/review-content.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { TargetState } from "../../sync/target.ts";
import { type FetchBytes, gatherContent } from "./gather-content.ts";
import { failedOutcome, type Outcome, unchangedOutcome } from "./outcome.ts";
import { renderTarget } from "./render-target.ts";
import { RetryLaterError, writeFailure } from "./sync-failure.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { TargetView } from "./target-view.ts";

export interface TargetWriterOptions {
  readonly api: KubeApi;
  /** Descriptor of the resources whose targets are written. */
  readonly owner: ResourceDescriptor;
  readonly targets: TargetView;
  readonly contentKey: Redacted<Uint8Array>;
}

/** Everything a plan was decided for. */
export interface PlanContext<C extends Candidate> {
  readonly resource: SyncResource;
  /** The target that the plan was decided for. */
  readonly state: TargetState;
  /** Condition to report if the plan succeeds. */
  readonly readyCondition: ReadyCondition;
  readonly fetchBytes: FetchBytes<C>;
  readonly signal: AbortSignal;
}

/** The existing target with its content. `trusted`: content and annotations are those that the operator wrote. */
interface CurrentTarget {
  readonly object: KubeObject | undefined;
  readonly content: Content;
  readonly trusted: boolean;
}

const noTarget: CurrentTarget = { object: undefined, content: new Map(), trusted: false };

/** The digest of the target does not match: the plan has to be decided again without relying on its annotations. */
export class UntrustedTargetError extends Error {
  override readonly name = "UntrustedTargetError";
}

function versionsOf(state: TargetState): Map<string, number> {
  if (state.state !== "owned") return new Map();
  return new Map([...state.synced].map(([key, { version }]) => [key, version]));
}

/** Returns the outcome of a plan that left the target unchanged. */
function unchanged({ readyCondition, state }: Pick<PlanContext<never>, "readyCondition" | "state">): Outcome {
  return unchangedOutcome(readyCondition, versionsOf(state));
}

/** Applies plans to the API server. Reads values from the vault only when there is something to write. */
export class TargetWriter<C extends Candidate> {
  readonly #options: TargetWriterOptions;

  constructor(options: TargetWriterOptions) {
    this.#options = options;
  }

  /**
   * Applies a plan. Failures that the vault or a user has to resolve are part of the outcome.
   * @throws KubeError when the reconcile is to be retried (a conflict, an unavailable API server)
   * @throws UntrustedTargetError when the plan is to be decided again without the annotations of the target
   */
  async apply(plan: Plan<C>, context: PlanContext<C>): Promise<Outcome> {
    const { resource, state } = context;
    try {
      switch (plan.action) {
        case "keep":
          return unchanged(context);
        case "verify":
          return await this.#verify(plan.entries, context);
        case "repair":
          return await this.#replace(plan.entries, await this.#read(context), "repaired", context);
        case "write":
          return await this.#replace(plan.entries, await this.#read(context), "updated", context);
        case "delete":
          await this.remove(resource, plan, context.signal);
          return { ...unchangedOutcome(context.readyCondition, new Map()), effect: "deleted", changed: true };
      }
    } catch (error) {
      const failure = writeFailure(error, resource);
      if (failure === undefined) throw error;
      return failedOutcome(failure, versionsOf(state), state.state === "owned");
    }
  }

  /** Deletes this very state of a target. @throws KubeError, `Conflict` when the target has changed since */
  async remove(
    resource: SyncResource,
    { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
    signal: AbortSignal,
  ): Promise<void> {
    const { kind, name } = resource.target;
    const ref = { namespace: resource.namespace, name, uid, resourceVersion };
    try {
      await this.#options.api.delete(targetDescriptor[kind], ref, { propagationPolicy: "Background" }, signal);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
    this.#options.targets.recordDelete(resource, uid);
  }

  /** Checks that the target has the content that its annotations claim, and repairs it if not. Reads each state once. */
  async #verify(entries: readonly Entry<C>[], context: PlanContext<C>): Promise<Outcome> {
    const { resource, state } = context;
    const { targets } = this.#options;
    if (state.state === "owned" && targets.isVerified(resource, state)) return unchanged(context);
    const current = await this.#read(context);
    if (current.object !== undefined && current.trusted && hasRequiredMetadata(resource, current.object)) {
      targets.markVerified(resource, current.object);
      return unchanged(context);
    }
    return this.#replace(entries, current, "repaired", context);
  }

  /** Writes the complete target, unless its content cannot be assembled now or must not replace the current one. */
  async #replace(
    entries: readonly Entry<C>[],
    current: CurrentTarget,
    effect: "updated" | "repaired",
    context: PlanContext<C>,
  ): Promise<Outcome> {
    const { resource, state, readyCondition, fetchBytes, signal } = context;
    // The plan relies on annotations that do not match the content: a forged version could take the target back to a lower one.
    if (state.state === "owned" && !current.trusted && !state.annotationsCorrupted) {
      throw new UntrustedTargetError("the target was edited");
    }
    const gathered = await gatherContent(entries, current, state, fetchBytes);
    if (gathered.state === "unavailable") return unchanged(context);
    if (gathered.state === "failed") return failedOutcome(gathered.failure, versionsOf(state), state.state === "owned");
    const { content, synced, fetched } = gathered;
    const objection = reviewContent(resource, fetched, content, current.content);
    if (objection !== undefined) return unchanged({ state, readyCondition: objection });

    const { api, owner, targets, contentKey } = this.#options;
    const descriptor = targetDescriptor[resource.target.kind];
    const type = resource.target.kind === "Secret" ? (resource.target.type ?? "Opaque") : undefined;
    const digest = contentDigest(contentKey, { type, content, synced });
    const target = renderTarget({ resource, owner, content, digest, synced }, current.object?.metadata);
    const exists = current.object !== undefined;
    const written = await (exists ? api.replace(descriptor, target, signal) : api.create(descriptor, target, signal));
    targets.recordWrite(resource, written);
    const versions = new Map([...synced].map(([key, { version }]) => [key, version]));
    const changed = !exists || !isSameContent(content, current.content);
    return { ...unchangedOutcome(readyCondition, versions), effect: exists ? effect : "created", changed };
  }

  /** @throws RetryLaterError when the target is not the one that the plan was decided for: another owner may have taken it */
  async #read({ resource, state, signal }: PlanContext<C>): Promise<CurrentTarget> {
    if (state.state !== "owned") return noTarget;
    const { api, contentKey, targets } = this.#options;
    const { kind, name } = resource.target;
    const object = await api
      .get(targetDescriptor[kind], { namespace: resource.namespace, name }, signal)
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
        targets.recordDelete(resource, state.uid);
        throw new RetryLaterError("the target was deleted concurrently");
      });
    const { uid, resourceVersion } = object.metadata;
    if (uid !== state.uid || resourceVersion !== state.resourceVersion) {
      targets.recordRead(resource, object);
      throw new RetryLaterError("the target was changed concurrently");
    }
    const content = readContent(kind, object);
    const type = typeof object.type === "string" ? object.type : undefined;
    const digest = contentDigest(contentKey, { type, content, synced: state.synced });
    return { object, content, trusted: digest === state.content && !state.annotationsCorrupted };
  }
}

/**
 * Reports whether the watch can see the object (it selects by label) and whether its type, which is immutable, is the requested
 * one.
 */
function hasRequiredMetadata({ target }: SyncResource, object: KubeObject): boolean {
  const hasType = target.kind !== "Secret" || object.type === (target.type ?? "Opaque");
  return hasType && object.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY;
}
