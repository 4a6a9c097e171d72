import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { WorkloadKind } from "../../api/rollout-restart.ts";
import { RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { isKubeError, type KubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { RestartDecision, SourceContent } from "../../restart/decide-restart.ts";
import {
  formatRestartState,
  parseRestartState,
  type Restart,
  type RestartState,
} from "../../restart/restart-state.ts";
import { rolloutProgress } from "../../restart/rollout-progress.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { OwnWrites } from "../outcome/own-writes.ts";
import { PodSources } from "./pod-sources.ts";
import { explainRejection, WorkloadWriter } from "./workload-writer.ts";
import type { RestartEvents } from "./restart-events.ts";
import type { RestartIndex } from "./restart-index.ts";
import { type Entry, restartEntry } from "./restart-entry.ts";
import { decideWithMemory, type RestartMemory } from "./restart-memory.ts";
import { type RestartPace, ROLLOUT_DEADLINE_MS } from "./restart-pace.ts";
import type { RestartStatuses } from "./restart-statuses.ts";
import {
  parseWorkloadKey,
  readWorkload,
  templateDigest,
  type WorkloadMetadata,
  workloadMetadata,
  type WorkloadRef,
} from "./workload.ts";
import type { WorkloadWatch } from "./workload-watch.ts";

/** Observes the ends of restarts; implemented by the metrics. Must not throw. */
export interface RestartObserver {
  restartEnded(kind: WorkloadKind, result: NonNullable<Restart["result"]>): void;
}

export interface RestartReconcilerOptions {
  readonly api: KubeApi;
  readonly watches: Readonly<
    Record<WorkloadKind, Pick<WorkloadWatch, "store" | "isComplete" | "problem">>
  >;
  readonly index: RestartIndex;
  readonly statuses: RestartStatuses;
  readonly events: RestartEvents;
  readonly observer: RestartObserver;
  readonly pace: RestartPace;
  /** Duration of the quiet window in milliseconds. */
  readonly windowMs: number;
  /** Without it the annotation of workloads is ignored. */
  readonly auto: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Minimum time between two reads of a workload during its rollout, and maximum time without one, in
 * milliseconds.
 */
const OBSERVE_MS = { shortest: 2_000, longest: 60_000 };
/**
 * Time in milliseconds in which the same record is not written twice: another writer reverts it.
 */
const REVERTED_MS = 300_000;
/**
 * Maximum time in milliseconds until a workload that waits for others is reconciled: usually the
 * end of a rollout requeues it.
 */
const QUEUED_MS = 60_000;

const DONE: ReconcileResult = { outcome: "done" };
const wait = (atMostMs: number): ReconcileResult => ({
  outcome: "done",
  wait: { for: "time", atMostMs },
});

/** Facts that a reconcile decides from: a workload, and the content that its pods are to have. */
interface Observed {
  readonly key: string;
  readonly ref: WorkloadRef;
  readonly metadata: WorkloadMetadata;
  readonly memory: RestartMemory;
  /** Keys of the resources whose content the workload uses. */
  readonly users: ReadonlySet<string>;
  readonly sources: ReadonlyMap<string, SourceContent | undefined>;
  readonly signal: AbortSignal;
}

/** A decision, and the state that it was made for. */
interface Planned extends Observed {
  readonly state: RestartState;
  readonly decision: RestartDecision;
  /** The workload, if there is something to write or a rollout to follow. */
  readonly object: KubeObject | undefined;
}

/** Result of a plan: the state to report, if there is one, and when to reconcile again. */
interface Effect {
  readonly state: RestartState | undefined;
  readonly next: ReconcileResult;
}

/** Reports whether the rollout of the last restart has no result yet. */
const isRolling = ({ restart }: RestartState): boolean =>
  restart !== undefined && restart.result === undefined;

/** Returns the result of a reconcile that waits for its decision, and no longer than this. */
function waitFor(decision: RestartDecision, atMostMs: number): ReconcileResult {
  const ms = Math.min(decision.action === "wait" ? decision.ms : Infinity, atMostMs);
  return ms === Infinity ? DONE : wait(ms);
}

/**
 * Restarts workloads, level-triggered, in four stages: observes the content of all targets that a
 * workload uses, decides by the content that the workload records, executes (a restart, a record,
 * or the result of a rollout), and reports in the statuses of the resources; see
 * docs/design/restarts.md. The methods below are in this order. Everything that must survive a
 * crash is in those statuses and in one annotation of the workload.
 */
export class RestartReconciler {
  readonly #options: RestartReconcilerOptions;
  readonly #writer: WorkloadWriter;
  readonly pods: PodSources;
  readonly #ownWrites: OwnWrites<WorkloadMetadata>;
  readonly #memory = new Map<string, RestartMemory>();

  constructor(options: RestartReconcilerOptions) {
    this.#options = options;
    this.#writer = new WorkloadWriter(options.api);
    this.pods = new PodSources(options.api);
    this.#ownWrites = new OwnWrites(options.clock);
  }

  /** Counts the rollout of a workload that a watch shows, before it is reconciled. */
  changed(key: string): void {
    const ref = parseWorkloadKey(key);
    const watched = this.#options.watches[ref.kind].store.get(ref.objectKey);
    const state = watched && this.#ownWrites.newest(key, watched).state;
    this.#track(key, state === undefined ? undefined : parseRestartState(state));
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const memory = this.#memory.get(key);
    if (memory !== undefined) memory.queued = false;
    try {
      return await this.#reconcile(key, signal);
    } finally {
      if (this.#memory.get(key)?.queued !== true) this.#options.pace.leave(key);
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { statuses, index } = this.#options;
    const observed = await this.#observe(key, signal);
    if (observed === undefined) return DONE;
    if ("result" in observed) {
      await statuses.show(key, index.naming(key), observed, signal);
      return DONE;
    }
    const { state, next } = await this.#apply(observed);
    if (state !== undefined) {
      const entry = restartEntry(state.restart, observed.memory);
      await statuses.show(key, observed.users, entry, signal);
    }
    return next;
  }

  /**
   * Returns what to decide from; the entry of a workload that does not exist or cannot be listed,
   * for the resources that name it; `undefined` while its kind is being listed.
   */
  async #observe(key: string, signal: AbortSignal): Promise<Observed | Entry | undefined> {
    const ref = parseWorkloadKey(key);
    const watch = this.#options.watches[ref.kind];
    const problem = watch.problem(ref.namespace);
    if (problem !== undefined) return { result: "Failed", message: problem };
    if (!watch.isComplete(ref.namespace)) return undefined;
    const watched = watch.store.get(ref.objectKey);
    if (watched === undefined || watched.deleting) {
      this.#ownWrites.forget(key);
      this.#memory.delete(key);
      this.pods.forget(key);
      return { result: "NotFound" };
    }
    const metadata = this.#ownWrites.newest(key, watched);
    const users = await this.#usersOf(key, ref, metadata, signal);
    const memory = this.#memoryOf(key, metadata.uid);
    const sources = this.#options.index.contentFor(users, ref, metadata);
    return { key, ref, metadata, memory, users, sources, signal };
  }

  /**
   * Returns the keys of the resources whose content a workload uses: they name or select it, or it
   * asks for it.
   */
  async #usersOf(
    key: string,
    ref: WorkloadRef,
    metadata: WorkloadMetadata,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { index, auto } = this.#options;
    const users = index.referring(key, ref, metadata);
    if (!auto || !metadata.auto) {
      this.pods.forget(key);
      return users;
    }
    for (const target of await this.pods.of(key, ref, metadata, signal)) {
      for (const user of index.writing(target)) users.add(user);
    }
    return users;
  }

  /** Decides and executes. A request that the API server rejects is retried with backoff. */
  async #apply(observed: Observed): Promise<Effect> {
    try {
      const planned = await this.#decide(observed);
      // The watch shows the deletion of a workload that is gone.
      if (planned === undefined) return { state: undefined, next: wait(OBSERVE_MS.shortest) };
      return await this.#execute(planned);
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "Invalid", "TooLarge", "NotServed")) throw error;
      return this.#rejected(observed, error);
    }
  }

  /**
   * Decides by the state that the watch shows. If there is something to write or a rollout to
   * follow, the workload is read and decides again, because the watch may be behind an own write.
   */
  async #decide(observed: Observed): Promise<Planned | undefined> {
    const { ref, metadata, memory, signal } = observed;
    const state = parseRestartState(metadata.state);
    const decision = this.#decisionFor(observed, state, metadata.generation);
    const isIdle = decision.action === "none" || decision.action === "wait";
    if (isIdle && this.#readInMs(state, memory) > 0)
      return { ...observed, state, decision, object: undefined };
    const object = await readWorkload(this.#options.api, ref, signal);
    if (object === undefined || object.metadata.uid !== metadata.uid) return undefined;
    const read = parseRestartState(object.metadata.annotations?.[RESTART_STATE_ANNOTATION]);
    const { generation = 0 } = object.metadata;
    return {
      ...observed,
      state: read,
      decision: this.#decisionFor(observed, read, generation, templateDigest(object)),
      object,
    };
  }

  #decisionFor(
    { key, memory, sources }: Observed,
    state: RestartState,
    generation: number,
    template?: string,
  ): RestartDecision {
    const { windowMs, clock, pace } = this.#options;
    const now = clock.now();
    const shown = { sources, state, windowMs, now };
    const decision = decideWithMemory(memory, shown, generation, template);
    memory.queued = decision.action === "restart" && !pace.admits(key);
    return memory.queued
      ? { action: "wait", ms: QUEUED_MS, since: memory.pendingSince ?? now }
      : decision;
  }

  /** Returns the time in milliseconds until the rollout has to be read; without one, `Infinity`. */
  #readInMs(state: RestartState, { readAt = -Infinity }: RestartMemory): number {
    if (!isRolling(state)) return Infinity;
    return OBSERVE_MS.shortest - (this.#options.clock.monotonic() - readAt);
  }

  async #execute(planned: Planned): Promise<Effect> {
    const { state, decision, object, memory } = planned;
    if (object === undefined) {
      if (decision.action === "none") memory.failure = undefined;
      return { state, next: waitFor(decision, this.#readInMs(state, memory)) };
    }
    switch (decision.action) {
      case "restart":
        return this.#restart(planned, object, decision);
      case "record":
        return this.#record(planned, object, { ...state, sources: decision.sources });
      case "wait":
      case "none": {
        const now = await this.#follow(planned, object);
        memory.readAt = this.#options.clock.monotonic();
        const next = waitFor(decision, isRolling(now) ? OBSERVE_MS.longest : Infinity);
        return { state: now, next };
      }
    }
  }

  async #restart(
    { key, ref, memory, signal }: Planned,
    object: KubeObject,
    { sources, content, changed }: Extract<RestartDecision, { readonly action: "restart" }>,
  ): Promise<Effect> {
    const { clock, logger, events } = this.#options;
    const state: RestartState = { sources, restart: { at: clock.now(), content } };
    this.#written(key, await this.#writer.restart(ref, object, state, content, signal));
    this.#track(key, state);
    memory.restartedFor = content;
    memory.pendingSince = undefined;
    memory.failure = undefined;
    memory.readAt = clock.monotonic();
    logger.info(
      { controller: "restart", key, action: "restarted", count: changed.length },
      "workload restarted",
    );
    events.restarted(ref, object.metadata.uid ?? "", changed);
    return { state, next: wait(OBSERVE_MS.shortest) };
  }

  /** Stores the content of the sources. Everything else is decided with the recorded state. */
  async #record(
    { key, ref, memory, signal }: Planned,
    object: KubeObject,
    state: RestartState,
  ): Promise<Effect> {
    const now = this.#options.clock.monotonic();
    const text = formatRestartState(state);
    const { recorded, pendingSince } = memory;
    const isReverted = recorded?.text === text && now - recorded.at < REVERTED_MS;
    // A restart that waits needs the record; it ends with the window.
    if (isReverted && pendingSince === undefined)
      return { state: undefined, next: wait(REVERTED_MS - (now - recorded.at)) };
    this.#written(key, await this.#writer.record(ref, object, state, signal));
    memory.recorded = { text, at: now };
    return { state: undefined, next: wait(1) };
  }

  /** Returns the state with the result of the rollout, once it has one, after storing it. */
  async #follow(
    { key, ref, users, memory, state, signal }: Planned,
    object: KubeObject,
  ): Promise<RestartState> {
    const { clock, events, observer } = this.#options;
    const { restart } = state;
    if (restart === undefined || restart.result !== undefined) return state;
    const progress = rolloutProgress(ref.kind, object);
    memory.progress = "message" in progress ? progress.message : undefined;
    memory.paused = progress.result === "Progressing" && progress.paused;
    if (memory.paused) memory.pausedAt = clock.now();
    this.#track(key, state);
    const isLate = clock.now() - Math.max(restart.at, memory.pausedAt ?? 0) >= ROLLOUT_DEADLINE_MS;
    const result =
      progress.result === "Progressing" ? (isLate ? "TimedOut" : undefined) : progress.result;
    if (result === undefined) return state;
    const message = progress.result === "Failed" ? progress.message : undefined;
    const ended: RestartState = { ...state, restart: { ...restart, result, message } };
    this.#written(key, await this.#writer.record(ref, object, ended, signal));
    observer.restartEnded(ref.kind, result);
    events.ended(ref, object.metadata.uid ?? "", result, message, users);
    return ended;
  }

  #written(key: string, object: KubeObject): void {
    this.#ownWrites.recordWrite(key, workloadMetadata(object));
    const memory = this.#memory.get(key);
    if (memory !== undefined) memory.template = templateDigest(object);
  }

  #rejected({ ref, users, memory, metadata }: Observed, error: KubeError): Effect {
    const message = explainRejection(ref.kind, error);
    if (memory.failure !== message) {
      this.#options.observer.restartEnded(ref.kind, "Failed");
      this.#options.events.ended(ref, metadata.uid, "Failed", message, users);
    }
    memory.failure = message;
    return {
      state: parseRestartState(metadata.state),
      next: { outcome: "retry", cause: "api", reason: error.kind, atLeastMs: error.retryAfterMs },
    };
  }

  #track(key: string, state: RestartState | undefined): void {
    const { at, result } = state?.restart ?? {};
    const isPaused = this.#memory.get(key)?.paused === true;
    this.#options.pace.observe(key, result === undefined && !isPaused ? at : undefined);
  }

  #memoryOf(key: string, uid: string): RestartMemory {
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory: RestartMemory = { uid };
    this.#memory.set(key, memory);
    return memory;
  }
}
