import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Random } from "../lib/random.ts";
import type { KubeApi } from "./kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "./resource.ts";
import type { ReadonlyStore, StoreChange } from "./store.ts";

export type ReflectorState = "Empty" | "Listing" | "Listed" | "Watching";

export interface ReflectorOptions<T> {
  readonly api: KubeApi;
  readonly resource: ResourceDescriptor;
  /** One namespace, or `ALL_NAMESPACES`. */
  readonly namespace: string;
  readonly labelSelector?: string;
  readonly metadataOnly?: boolean;
  /** What is kept of an object; `wholeObject` keeps all. What it drops costs no memory. */
  readonly project: (object: KubeObject) => T;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const wholeObject = (object: KubeObject): KubeObject => object;

export interface ReflectorInterface<T> {
  readonly store: ReadonlyStore<T>;
  readonly state: ReflectorState;
  /** Resolves once the first list is in the store and told; rejects when `run` was stopped before. */
  readonly synced: Promise<void>;
  /** Tells every change after it is in the store. Disposing the answer ends it. */
  onChange(handler: (change: StoreChange<T>) => void): Disposable;
  /** Lists and watches until the signal is aborted; then resolves. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}
