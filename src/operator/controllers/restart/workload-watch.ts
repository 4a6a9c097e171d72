import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { WorkloadKind } from "../../api/rollout-restart.ts";
import { ReflectorGroup } from "../../kube/cache/reflector-group.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { workloadDescriptor, type WorkloadMetadata, workloadMetadata } from "./workload.ts";

export interface WorkloadWatchOptions {
  readonly api: KubeApi;
  readonly kind: WorkloadKind;
  readonly namespaces: readonly string[];
  readonly relistMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Time in milliseconds after which a kind that could not be listed is tried again. */
const RETRY_MS = 300_000;

/**
 * The workloads of one kind, metadata only. Nothing is listed or watched until a resource refers to the kind. A kind that the API
 * server does not serve, or that RBAC denies, is tried again every five minutes: that is no failure of the operator.
 */
export class WorkloadWatch {
  readonly #options: WorkloadWatchOptions;
  readonly #reflectors: ReflectorGroup<WorkloadMetadata>;
  readonly #demanded = Promise.withResolvers<void>();
  readonly #stateHandlers = new Set<() => void>();
  #state: "starting" | "watching" = "starting";
  #problem: string | undefined;

  constructor(options: WorkloadWatchOptions) {
    this.#options = options;
    const resource = workloadDescriptor[options.kind];
    this.#reflectors = new ReflectorGroup({ ...options, resource, metadataOnly: true, project: workloadMetadata });
    this.#reflectors.synced.then(
      () => this.#changeState("watching", undefined),
      () => undefined,
    );
  }

  get store(): ReadonlyStore<WorkloadMetadata> {
    return this.#reflectors.store;
  }

  /** Reports whether the store is complete. */
  get isComplete(): boolean {
    return this.#state === "watching";
  }

  /** Why the kind cannot be listed, for a user. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Starts the watch, if it has not started. */
  demand(): void {
    this.#demanded.resolve();
  }

  onChange(handler: (change: StoreChange<WorkloadMetadata>) => void): Disposable {
    return this.#reflectors.onChange(handler);
  }

  /** Calls the handler when the store is complete, and when {@link problem} changes. */
  onStateChange(handler: () => void): Disposable {
    this.#stateHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#stateHandlers.delete(handler) };
  }

  onReconnect(handler: () => void): Disposable {
    return this.#reflectors.onReconnect(handler);
  }

  /** Waits for a demand, then lists and watches until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (signal.aborted) return;
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.race([this.#demanded.promise, aborted]);
    while (!signal.aborted && (await this.#isUnavailable(signal))) await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    if (!signal.aborted) await this.#reflectors.run(signal);
  }

  /** Lists one page, to learn whether the kind can be listed. */
  async #isUnavailable(signal: AbortSignal): Promise<boolean> {
    const { api, kind, namespaces, logger } = this.#options;
    const resource = workloadDescriptor[kind];
    try {
      for (const namespace of namespaces) {
        for await (const _ of api.list(resource, { namespace, metadataOnly: true, paged: true }, signal)) break;
      }
      return false;
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "NotServed")) return false;
      const problem = error.kind === "NotServed" ? notServed(kind) : denied(kind);
      if (problem !== this.#problem) logger.info({ resource: resource.plural, reason: error.kind }, "workloads are not watched");
      this.#changeState("starting", problem);
      return true;
    }
  }

  #changeState(state: "starting" | "watching", problem: string | undefined): void {
    this.#state = state;
    this.#problem = problem;
    for (const handler of this.#stateHandlers) handler();
  }
}

const notServed = (kind: WorkloadKind): string => `the API server does not serve the kind ${kind}: install its CRD`;
const denied = (kind: WorkloadKind): string =>
  `the operator may not list ${workloadDescriptor[kind].plural}: grant it get, list, watch and patch, as deploy/base/rbac.yaml does`;
