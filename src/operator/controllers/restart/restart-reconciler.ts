import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { WorkloadKind } from "../../api/rollout-restart.ts";
import { RESTART_STATE_ANNOTATION } from "../../api/names.ts";
import { isKubeError, type KubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import {
  decideRestart,
  type RestartDecision,
  type SourceContent,
} from "../../restart/decide-restart.ts";
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
import { type RestartIndex, sourceName } from "./restart-index.ts";
import { type Entry, restartEntry, type RestartMemory } from "./restart-entry.ts";
import { type RestartPace, ROLLOUT_DEADLINE_MS } from "./restart-pace.ts";
import type { RestartStatuses } from "./restart-statuses.ts";
import {
  parseWorkloadKey,
  workloadDescriptor,
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

/** Input of one reconcile. */
interface Context {
  readonly key: string;
  readonly ref: WorkloadRef;
  readonly memory: RestartMemory;
  /** Keys of the resources whose content the workload uses. */
  readonly users: ReadonlySet<string>;
  readonly sources: ReadonlyMap<string, SourceContent | undefined>;
  readonly signal: AbortSignal;
}

/**
 * Restarts workloads, level-triggered: compares the content of all targets that a workload uses
 * with the content that the workload records, restarts it at the end of the quiet window, observes
 * the rollout, and reports it; see docs/design/restarts.md. Everything that must survive a crash is
 * in the statuses of the resources and in one annotation of the workload.
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

  /** Records a workload that a watch shows, before it is reconciled: its rollout counts. */
  observe(key: string): void {
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
    const ref = parseWorkloadKey(key);
    const watch = this.#options.watches[ref.kind];
    const problem = watch.problem(ref.namespace);
    if (problem !== undefined)
      return this.#showNames(key, { result: "Failed", message: problem }, signal);
    if (!watch.isComplete(ref.namespace)) return DONE;
    const watched = watch.store.get(ref.objectKey);
    if (watched === undefined || watched.deleting) {
      this.#ownWrites.forget(key);
      this.#memory.delete(key);
      this.pods.forget(key);
      return this.#showNames(key, { result: "NotFound" }, signal);
    }
    const metadata = this.#ownWrites.newest(key, watched);
    const users = await this.#usersOf(key, ref, metadata, signal);
    const context = {
      key,
      ref,
      users,
      signal,
      memory: this.#memoryOf(key, metadata.uid),
      sources: this.#contentOf(users),
    };
    try {
      return await this.#follow(context, metadata);
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "Invalid", "TooLarge", "NotServed")) throw error;
      return this.#failed(context, metadata, error);
    }
  }

  /** Reads the workload only if there is something to write, or a rollout to observe. */
  async #follow(context: Context, metadata: WorkloadMetadata): Promise<ReconcileResult> {
    const { ref, memory, signal } = context;
    const { clock, api } = this.#options;
    const known = parseRestartState(metadata.state);
    const decision = this.#decide(context, known);
    const isObserved = known.restart !== undefined && known.restart.result === undefined;
    const sinceRead = clock.monotonic() - (memory.observedAt ?? -Infinity);
    const isIdle = decision.action === "none" || decision.action === "wait";
    if (isIdle && !(isObserved && sinceRead >= OBSERVE_MS.shortest)) {
      if (decision.action === "none") memory.failure = undefined;
      await this.#publish(context, known);
      const readInMs = isObserved ? OBSERVE_MS.shortest - sinceRead : Infinity;
      const ms = Math.min(decision.action === "wait" ? decision.ms : Infinity, readInMs);
      return ms === Infinity ? DONE : wait(ms);
    }
    const { namespace, name } = ref;
    const object = await api
      .get(workloadDescriptor[ref.kind], { namespace, name }, signal)
      .catch((error: unknown) => {
        if (!isKubeError(error, "NotFound")) throw error;
      });
    // The watch shows its deletion.
    if (object === undefined || object.metadata.uid !== metadata.uid)
      return wait(OBSERVE_MS.shortest);
    return this.#act(context, object);
  }

  /** Decides by the state that the API server has now: the watch may be behind an own write. */
  async #act(context: Context, object: KubeObject): Promise<ReconcileResult> {
    const { memory } = context;
    const state = parseRestartState(object.metadata.annotations?.[RESTART_STATE_ANNOTATION]);
    const decision = this.#decide(context, state);
    switch (decision.action) {
      case "restart":
        return this.#restart(context, object, decision);
      case "record":
        return this.#record(context, object, { ...state, sources: decision.sources });
      case "wait":
      case "none": {
        const next = await this.#observe(context, object, state);
        await this.#publish(context, next);
        memory.observedAt = this.#options.clock.monotonic();
        const observeMs =
          next.restart?.result === undefined && next.restart !== undefined
            ? OBSERVE_MS.longest
            : Infinity;
        const ms = Math.min(decision.action === "wait" ? decision.ms : Infinity, observeMs);
        return ms === Infinity ? DONE : wait(ms);
      }
    }
  }

  async #restart(
    context: Context,
    object: KubeObject,
    { sources, content, changed }: Extract<RestartDecision, { readonly action: "restart" }>,
  ): Promise<ReconcileResult> {
    const { key, ref, memory, signal } = context;
    const { clock, logger, events } = this.#options;
    const state: RestartState = { sources, restart: { at: clock.now(), content } };
    this.#ownWrites.recordWrite(
      key,
      workloadMetadata(await this.#writer.restart(ref, object, state, content, signal)),
    );
    this.#track(key, state);
    memory.restartedFor = content;
    memory.pendingSince = undefined;
    memory.failure = undefined;
    memory.observedAt = clock.monotonic();
    logger.info(
      { controller: "restart", key, action: "restarted", count: changed.length },
      "workload restarted",
    );
    events.restarted(ref, object.metadata.uid ?? "", changed);
    await this.#publish(context, state);
    return wait(OBSERVE_MS.shortest);
  }

  async #record(
    context: Context,
    object: KubeObject,
    state: RestartState,
  ): Promise<ReconcileResult> {
    const { key, ref, memory, signal } = context;
    const now = this.#options.clock.monotonic();
    const text = formatRestartState(state);
    const { recorded } = memory;
    if (recorded?.text === text && now - recorded.at < REVERTED_MS)
      return wait(REVERTED_MS - (now - recorded.at));
    this.#ownWrites.recordWrite(
      key,
      workloadMetadata(await this.#writer.record(ref, object, state, signal)),
    );
    memory.recorded = { text, at: now };
    // Everything else is decided with the recorded state.
    return wait(1);
  }

  /** Returns the state with the result of the rollout, once it has one, after storing it. */
  async #observe(
    { key, ref, users, memory, signal }: Context,
    object: KubeObject,
    state: RestartState,
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
    this.#ownWrites.recordWrite(
      key,
      workloadMetadata(await this.#writer.record(ref, object, ended, signal)),
    );
    observer.restartEnded(ref.kind, result);
    events.ended(ref, object.metadata.uid ?? "", result, message, users);
    return ended;
  }

  /**
   * Reports a request about the workload that the API server rejects; it is retried with backoff.
   */
  async #failed(
    context: Context,
    metadata: WorkloadMetadata,
    error: KubeError,
  ): Promise<ReconcileResult> {
    const { ref, users, memory } = context;
    const message = explainRejection(ref.kind, error);
    if (memory.failure !== message) {
      this.#options.observer.restartEnded(ref.kind, "Failed");
      this.#options.events.ended(ref, metadata.uid, "Failed", message, users);
    }
    memory.failure = message;
    await this.#publish(context, parseRestartState(metadata.state));
    return { outcome: "retry", cause: "api", reason: error.kind, atLeastMs: error.retryAfterMs };
  }

  #decide({ key, memory, sources }: Context, state: RestartState): RestartDecision {
    const { windowMs, clock, pace } = this.#options;
    const now = clock.now();
    const { pendingSince, restartedFor } = memory;
    const decision = decideRestart({ sources, state, pendingSince, restartedFor, windowMs, now });
    if (decision.action === "wait") memory.pendingSince = decision.since;
    if (decision.action === "none") memory.pendingSince = undefined;
    memory.queued = decision.action === "restart" && !pace.admits(key);
    return memory.queued ? { action: "wait", ms: QUEUED_MS, since: pendingSince ?? now } : decision;
  }

  #track(key: string, state: RestartState | undefined): void {
    const { at, result } = state?.restart ?? {};
    const isPaused = this.#memory.get(key)?.paused === true;
    this.#options.pace.observe(key, result === undefined && !isPaused ? at : undefined);
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

  #contentOf(users: Iterable<string>): Map<string, SourceContent | undefined> {
    const sources = new Map<string, SourceContent | undefined>();
    for (const key of users) {
      const source = this.#options.index.get(key);
      if (source !== undefined) sources.set(sourceName(source), source.content);
    }
    return sources;
  }

  /** Makes the status of each user show the last restart of the workload. */
  #publish({ key, users, memory, signal }: Context, { restart }: RestartState): Promise<void> {
    return this.#options.statuses.show(key, users, restartEntry(restart, memory), signal);
  }

  /** Shows a workload that cannot be followed to the resources that name it. */
  async #showNames(key: string, entry: Entry, signal: AbortSignal): Promise<ReconcileResult> {
    await this.#options.statuses.show(key, this.#options.index.naming(key), entry, signal);
    return DONE;
  }

  #memoryOf(key: string, uid: string): RestartMemory {
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory: RestartMemory = { uid };
    this.#memory.set(key, memory);
    return memory;
  }
}
