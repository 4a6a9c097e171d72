import { Groups } from "../../lib/groups.ts";
import type { Clock } from "../../../lib/clock.ts";
import { parseWorkloadKey } from "./workload.ts";

/** Maximum number of workloads of one namespace that roll out simultaneously. */
export const MAX_ROLLING = 10;
/** Time in milliseconds after which a rollout that has not ended no longer counts. */
export const ROLLOUT_DEADLINE_MS = 15 * 60_000;

const namespaceOf = (workload: string): string => parseWorkloadKey(workload).namespace;

/**
 * Limits the rollouts of each namespace: a change of one Secret may restart hundreds of workloads.
 * Waiting workloads are restarted in their order of arrival. A workload that rolls out and is to be
 * restarted again waits as well if others do: ten of them must not keep all places.
 */
export class RestartPace {
  readonly #clock: Clock;
  readonly #requeue: (workload: string) => void;
  /** Times of the restarts that have no result, in milliseconds since the epoch, by workload. */
  readonly #restartedAt = new Map<string, number>();
  /** The same workloads by namespace. */
  readonly #rolling = new Groups();
  /** By namespace, in order of arrival. */
  readonly #waiting = new Groups();

  /** @param requeue called with the key of a workload that waited and may be restarted now */
  constructor(clock: Clock, requeue: (workload: string) => void) {
    this.#clock = clock;
    this.#requeue = requeue;
  }

  /**
   * Records the time of a restart whose rollout is in progress; `undefined` if the workload does
   * not roll out.
   */
  observe(workload: string, restartedAt: number | undefined): void {
    const namespace = namespaceOf(workload);
    if (restartedAt !== undefined) {
      this.#restartedAt.set(workload, restartedAt);
      this.#rolling.add(namespace, workload);
    } else if (this.#restartedAt.delete(workload)) {
      this.#rolling.remove(namespace, workload);
      this.#wake(namespace);
    }
  }

  /**
   * Reports whether the workload may be restarted now. Otherwise it takes a place in the queue,
   * unless it has one.
   */
  admits(workload: string): boolean {
    const namespace = namespaceOf(workload);
    const waiting = [...this.#waiting.get(namespace)];
    const place = waiting.indexOf(workload);
    if ((place === -1 ? waiting.length : place) < this.#free(namespace, workload)) return true;
    this.#waiting.add(namespace, workload);
    return false;
  }

  /** Gives up the place in the queue: the workload was restarted, need not be, or could not be. */
  leave(workload: string): void {
    const namespace = namespaceOf(workload);
    this.#waiting.remove(namespace, workload);
    this.#wake(namespace);
  }

  /** Returns the number of workloads that may be restarted, apart from this one. */
  #free(namespace: string, workload?: string): number {
    const now = this.#clock.now();
    const rolling = [...this.#rolling.get(namespace)].filter((one) => {
      // A time in the future, of a clock that was ahead, counts for as long at most.
      return (
        one !== workload && Math.abs(now - (this.#restartedAt.get(one) ?? 0)) < ROLLOUT_DEADLINE_MS
      );
    });
    return MAX_ROLLING - rolling.length;
  }

  #wake(namespace: string): void {
    const waiting = this.#waiting.get(namespace);
    if (waiting.size === 0) return;
    for (const workload of [...waiting].slice(0, Math.max(0, this.#free(namespace))))
      this.#requeue(workload);
  }
}
