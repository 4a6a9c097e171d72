import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { WorkloadKind } from "../../api/rollout-restart.ts";
import { ReflectorGroup } from "../../kube/cache/reflector-group.ts";
import type { ReadonlyStore, StoreChange } from "../../kube/cache/object-store.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import { ALL_NAMESPACES } from "../../kube/resource.ts";
import { workloadDescriptor, type WorkloadMetadata, workloadMetadata } from "./workload.ts";

export interface WorkloadWatchOptions {
  readonly api: KubeApi;
  readonly kind: WorkloadKind;
  readonly relistMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Time in milliseconds after which a kind that could not be listed is tried again. */
const RETRY_MS = 300_000;

/** The state of the watch in one namespace, or in all. */
interface NamespaceState {
  readonly isComplete: boolean;
  readonly problem: string | undefined;
}

const STARTING: NamespaceState = { isComplete: false, problem: undefined };
const COMPLETE: NamespaceState = { isComplete: true, problem: undefined };

/**
 * The workloads of one kind, metadata only. Nothing is listed or watched until a resource refers to
 * the kind. A kind that the API server does not serve, or that RBAC denies in a namespace, is tried
 * again every five minutes: that is no failure of the operator.
 */
export class WorkloadWatch {
  readonly #options: WorkloadWatchOptions;
  readonly #reflectors: ReflectorGroup<WorkloadMetadata>;
  readonly #demanded = Promise.withResolvers<void>();
  readonly #stateHandlers = new Set<() => void>();
  readonly #states = new Map<string, NamespaceState>();

  constructor(options: WorkloadWatchOptions) {
    this.#options = options;
    const resource = workloadDescriptor[options.kind];
    this.#reflectors = new ReflectorGroup({
      ...options,
      resource,
      metadataOnly: true,
      project: workloadMetadata,
    });
  }

  get store(): ReadonlyStore<WorkloadMetadata> {
    return this.#reflectors.store;
  }

  /** Reports whether the store is complete for a namespace. */
  isComplete(namespace: string): boolean {
    return this.#stateIn(namespace).isComplete;
  }

  /** Returns why the kind cannot be listed in a namespace, for a user. */
  problem(namespace: string): string | undefined {
    return this.#stateIn(namespace).problem;
  }

  /** Starts the watch, if it has not started. */
  demand(): void {
    this.#demanded.resolve();
  }

  onChange(handler: (change: StoreChange<WorkloadMetadata>) => void): Disposable {
    return this.#reflectors.onChange(handler);
  }

  /**
   * Calls the handler when the store is complete for one more namespace, and when a {@link problem}
   * changes.
   */
  onStateChange(handler: () => void): Disposable {
    this.#stateHandlers.add(handler);
    return { [Symbol.dispose]: () => void this.#stateHandlers.delete(handler) };
  }

  onReconnect(handler: () => void): Disposable {
    return this.#reflectors.onReconnect(handler);
  }

  /**
   * Waits for a demand, then lists and watches a namespace, or all, until the signal is aborted.
   * Never rejects.
   */
  async run(namespace: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (signal.aborted) return;
    // A namespace that is served again starts again, whatever its former watch found.
    this.#states.set(namespace, STARTING);
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    await Promise.race([this.#demanded.promise, aborted]);
    while (!signal.aborted && (await this.#isUnavailable(namespace, signal))) {
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
    if (!signal.aborted) await this.#watch(namespace, signal);
  }

  async #watch(namespace: string, signal: AbortSignal): Promise<void> {
    const part = this.#reflectors.open(namespace);
    const listed = part.synced.then(
      () => {
        part.show();
        part.report();
        this.#changeState(namespace, COMPLETE);
      },
      () => undefined,
    );
    await part.run(signal);
    await listed;
    part.hide();
  }

  /** Lists one page, to learn whether the kind can be listed. */
  async #isUnavailable(namespace: string, signal: AbortSignal): Promise<boolean> {
    const { api, kind, logger } = this.#options;
    const resource = workloadDescriptor[kind];
    try {
      for await (const _ of api.list(
        resource,
        { namespace, metadataOnly: true, paged: true },
        signal,
      ))
        break;
      return false;
    } catch (error) {
      if (!isKubeError(error, "Forbidden", "NotServed")) return false;
      const problem = error.kind === "NotServed" ? notServed(kind) : denied(kind, namespace);
      if (problem !== this.#stateIn(namespace).problem) {
        logger.info(
          { resource: resource.plural, namespace, reason: error.kind },
          "workloads are not watched",
        );
      }
      this.#changeState(namespace, { isComplete: false, problem });
      return true;
    }
  }

  #stateIn(namespace: string): NamespaceState {
    return this.#states.get(ALL_NAMESPACES) ?? this.#states.get(namespace) ?? STARTING;
  }

  #changeState(namespace: string, state: NamespaceState): void {
    this.#states.set(namespace, state);
    for (const handler of this.#stateHandlers) handler();
  }
}

const notServed = (kind: WorkloadKind): string =>
  `the API server does not serve the kind ${kind}: install its CRD`;
const denied = (kind: WorkloadKind, namespace: string): string => {
  const rules =
    namespace === ALL_NAMESPACES ? "deploy/chart/files/base/rbac.yaml" : "deploy/namespaced/tenant";
  return `the operator may not list ${workloadDescriptor[kind].plural}: grant it get, list, watch and patch, as ${rules} does`;
};
