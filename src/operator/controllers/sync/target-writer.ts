import { MANAGED_BY, MANAGED_BY_LABEL } from "../../api/names.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { contentDigest, isSameContent, readContent } from "../../sync/content.ts";
import type { Entry, Plan } from "../../sync/decide.ts";
import type { Report } from "../../sync/report.ts";
import { reviewContent } from "../../sync/review-content.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import type { TargetState } from "../../sync/target.ts";
import { writeFailure } from "./failures.ts";
import { type CurrentTarget, gatherContent, NO_TARGET } from "./gather-content.ts";
import { renderTarget } from "./render-target.ts";
import { DONE, failed, type SyncResult } from "./sync-result.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { TargetRecords } from "./target-records.ts";

export interface TargetWriterOptions {
  readonly api: KubeApi;
  readonly targets: TargetRecords;
  readonly contentKey: Redacted<Uint8Array>;
}

/** Everything a plan was decided for. */
export interface PlanContext {
  readonly resource: SyncResource;
  /** Descriptor of the resource's kind. */
  readonly owner: ResourceDescriptor;
  /** The target that the plan was decided for, and what was read of it. */
  readonly state: TargetState;
  readonly current: CurrentTarget;
  /** The report of a plan that changes nothing. */
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** Executes plans: reads, writes and deletes targets; see docs/design/engine.md#target-writes. */
export class TargetWriter {
  readonly #options: TargetWriterOptions;

  constructor(options: TargetWriterOptions) {
    this.#options = options;
  }

  /**
   * Reads the target if the plan depends on its content: to be written, or not verified yet. Returns `changed` if it is no longer
   * the one that the plan was decided for; another owner may have taken it.
   */
  async read(
    { action }: Plan,
    resource: SyncResource,
    state: TargetState,
    signal: AbortSignal,
  ): Promise<CurrentTarget | "changed"> {
    const { api, contentKey, targets } = this.#options;
    if (state.state !== "owned" || action === "keep" || action === "delete") return NO_TARGET;
    if (action === "verify" && targets.isVerified(resource, state)) return NO_TARGET;
    const { kind, name } = resource.target;
    const object = await api
      .get(targetDescriptor[kind], { namespace: resource.namespace, name }, signal)
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
      });
    if (object === undefined) {
      targets.recordDelete(resource, state.uid);
      return "changed";
    }
    const { uid, resourceVersion } = object.metadata;
    if (uid !== state.uid || resourceVersion !== state.resourceVersion) {
      targets.recordRead(resource, object);
      return "changed";
    }
    const content = readContent(kind, object);
    const type = typeof object.type === "string" ? object.type : undefined;
    const digest = contentDigest(contentKey, { type, content, synced: state.synced });
    return { object, content, trusted: digest === state.content && !state.annotationsCorrupted };
  }

  /** @throws KubeError when the request itself failed, and for the conflicts that the caller resolves */
  async apply(plan: Plan, context: PlanContext): Promise<SyncResult> {
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
          await this.remove(resource, plan, context.signal);
          return { report: { ...report, effect: "deleted", changed: true, versions: new Map() }, next: DONE };
      }
    } catch (error) {
      const failure = writeFailure(error, resource);
      if (failure === undefined) throw error;
      return failed(report, failure, state.state === "owned");
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

  /** Leaves a target unchanged that has the content which its annotations claim, and repairs any other. */
  async #verify(entries: readonly Entry[], context: PlanContext): Promise<SyncResult> {
    const { resource, state, current, report } = context;
    const { targets } = this.#options;
    if (state.state === "owned" && targets.isVerified(resource, state)) return { report, next: DONE };
    if (current.object !== undefined && current.trusted && hasRequiredMetadata(resource, current.object)) {
      targets.markVerified(resource, current.object);
      return { report, next: DONE };
    }
    return this.#write(entries, "repaired", context);
  }

  /** Writes the complete target, unless its content cannot be assembled now or must not replace the current one. */
  async #write(entries: readonly Entry[], effect: "updated" | "repaired", context: PlanContext): Promise<SyncResult> {
    const { resource, owner, state, current, report, signal } = context;
    const gathered = await gatherContent(entries, current, state, signal);
    if (gathered === "unavailable") return { report, next: DONE };
    if ("condition" in gathered) return failed(report, gathered, state.state === "owned");
    const { content, synced, fetched } = gathered;
    const objection = reviewContent(resource, fetched, content, current.content);
    if (objection !== undefined) return { report: { ...report, readyCondition: objection }, next: DONE };

    const { api, targets, contentKey } = this.#options;
    const descriptor = targetDescriptor[resource.target.kind];
    const type = resource.target.kind === "Secret" ? (resource.target.type ?? "Opaque") : undefined;
    const digest = contentDigest(contentKey, { type, content, synced });
    const target = renderTarget({ resource, owner, content, digest, synced }, current.object?.metadata);
    const exists = current.object !== undefined;
    const written = await (exists ? api.replace(descriptor, target, signal) : api.create(descriptor, target, signal));
    targets.recordWrite(resource, written);
    const versions = new Map([...synced].map(([key, { version }]) => [key, version]));
    const changed = !exists || !isSameContent(content, current.content);
    return { report: { ...report, effect: exists ? effect : "created", changed, versions }, next: DONE };
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
