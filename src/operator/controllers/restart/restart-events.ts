import { eventReasons } from "../../api/reasons.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Restart } from "../../restart/restart-state.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import { regarding } from "../outcome/record-readiness.ts";
import { workloadDescriptor, type WorkloadRef } from "./workload.ts";
import { firstOf } from "../../lib/first-of.ts";

export interface RestartEventsOptions {
  readonly events: EventRecorder;
  readonly resources: Readonly<Record<SyncKind, ReadonlyStore<KubeObject>>>;
}

const MAX_NAMED = 5;

const outcomes = {
  RolledOut: { type: "Normal", reason: eventReasons.rolledOut, text: "rolled out" },
  Failed: { type: "Warning", reason: eventReasons.restartFailed, text: "failed" },
  TimedOut: { type: "Warning", reason: eventReasons.restartTimedOut, text: "timed out" },
} as const;

/** Records the events of restarts, of the workload and of the resources that it uses. */
export class RestartEvents {
  readonly #options: RestartEventsOptions;

  constructor(options: RestartEventsOptions) {
    this.#options = options;
  }

  /** @param changed names of the resources whose content changed */
  restarted(workload: WorkloadRef, uid: string, changed: readonly string[]): void {
    const note = `restarted: the content of ${firstOf(changed, { max: MAX_NAMED })} changed`;
    this.#ofWorkload(workload, uid, { type: "Normal", reason: eventReasons.restarted, note });
  }

  /** @param sources keys of the resources whose content the workload uses */
  ended(
    workload: WorkloadRef,
    uid: string,
    result: NonNullable<Restart["result"]>,
    message: string | undefined,
    sources: Iterable<string>,
  ): void {
    const { type, reason, text } = outcomes[result];
    const detail = message === undefined ? "" : `: ${message}`;
    this.#ofWorkload(workload, uid, { type, reason, note: `the restart ${text}${detail}` });
    const note = `the restart of ${workload.kind} ${workload.name} ${text}${detail}`;
    for (const key of sources) {
      const { kind, objectKey } = parseSyncKey(key);
      const object = this.#options.resources[kind].get(objectKey);
      if (object === undefined) continue;
      const event = { ...regarding(object), type, reason, action: "Restart", note };
      this.#options.events.record(event);
    }
  }

  #ofWorkload(
    { kind, namespace, name }: WorkloadRef,
    uid: string,
    event: { readonly type: "Normal" | "Warning"; readonly reason: string; readonly note: string },
  ): void {
    this.#options.events.record({
      resource: workloadDescriptor[kind],
      namespace,
      name,
      uid,
      action: "Restart",
      ...event,
    });
  }
}
