import type { ControllerParts, ReconcilerParts } from "../outcome/parts.ts";
import { clusterVaultFileKind, clusterVaultSecretKind } from "../../api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../api/names.ts";
import { replayAndSubscribe } from "../../kube/cache/filtered-view.ts";
import type { StoreChange } from "../../kube/cache/object-store.ts";
import {
  desiredStateChanged,
  type KubeObject,
  namespaceOf,
  type ResourceDescriptor,
} from "../../kube/resource.ts";
import { GONE, type ReconcileResult, runController } from "../../runtime/controller.ts";
import { QueueLimits } from "../../runtime/queue-limits.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { ParsedResource } from "../../sync/parse-resource.ts";
import { isObject } from "../../../lib/is-object.ts";
import { readStatus, type SyncStatus } from "../../sync/stored-status.ts";
import { AWAIT_WATCH, DONE } from "../outcome/outcome.ts";
import { recordReadiness } from "../outcome/record-readiness.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import type { FannedOut } from "./fanned-out.ts";
import { isKnown, nextFanOutStatus, type Part, readFanOutStatus } from "./fan-out-status.ts";

/** The kinds of resources with targets in several namespaces. */
type FanOutKind = "ClusterVaultSecret" | "ClusterVaultFile";
const KINDS: readonly FanOutKind[] = ["ClusterVaultSecret", "ClusterVaultFile"];

type Objects = Pick<FannedOut, "resources" | "of" | "absent" | "isTerminating" | "onChange">;

export interface FanOutControllerOptions extends ControllerParts, ReconcilerParts {
  readonly objects: Readonly<Record<FanOutKind, Objects>>;
  readonly parse: (kind: FanOutKind, object: KubeObject) => ParsedResource;
}

/** Time in milliseconds within which changes of several namespaces share one status. */
const CHANGES_MS = 1_000;
/**
 * Time in milliseconds for which the status stays unchanged while some namespaces were not
 * reconciled: after a start, and after a change of the spec.
 */
const FIRST_MS = 30_000;
const CONCURRENCY = 4;

/**
 * Writes the statuses of the resources with targets in several namespaces: each sums up what the
 * reconciles of its namespaces found. See docs/design/engine.md#fan-out.
 */
export class FanOutController {
  readonly queue: WorkQueue;
  readonly #options: FanOutControllerOptions;
  readonly #statuses: Readonly<Record<FanOutKind, StatusWriter>>;
  /** Monotonic times since when some namespaces have not been reconciled, by key. */
  readonly #incomplete = new Map<string, number>();
  readonly #parsed = new WeakMap<object, SyncStatus>();

  constructor(options: FanOutControllerOptions) {
    const { api, clock, random, logger } = options;
    this.#options = options;
    const limits = new QueueLimits(clock, CONCURRENCY);
    this.queue = new WorkQueue({ clock, random, turnOf: namespaceOf, limits });
    const writer = (descriptor: ResourceDescriptor): StatusWriter =>
      new StatusWriter(api, descriptor, clock, logger);
    this.#statuses = {
      ClusterVaultSecret: writer(clusterVaultSecretKind),
      ClusterVaultFile: writer(clusterVaultFileKind),
    };
  }

  /** Follows the current resources and all later changes, until the returned handle is disposed. */
  subscribe(): Disposable {
    const stack = new DisposableStack();
    for (const kind of KINDS) {
      const objects = this.#options.objects[kind];
      stack.use(
        replayAndSubscribe(objects.resources, (change) => this.#resourceChanged(kind, change)),
      );
      stack.use(
        objects.onChange(({ key }) =>
          this.queue.addAfter(`${kind}/${key.slice(key.indexOf("/") + 1)}`, CHANGES_MS),
        ),
      );
    }
    return stack;
  }

  /** Runs until the signal is aborted and all running reconciles have ended. */
  run(signal: AbortSignal): Promise<void> {
    const { resyncMs, clock, logger, observer } = this.#options;
    return runController({
      name: "fan-out",
      queue: this.queue,
      reconcile: this.#reconcile.bind(this),
      resync: { everyMs: resyncMs, keys: () => this.#keys() },
      clock,
      logger,
      observer,
      signal,
    });
  }

  *#keys(): Generator<string> {
    for (const kind of KINDS)
      for (const name of this.#options.objects[kind].resources.store.keys())
        yield `${kind}/${name}`;
  }

  #resourceChanged(kind: FanOutKind, change: StoreChange<KubeObject>): void {
    const key = `${kind}/${change.key}`;
    if (change.type === "deleted") {
      this.#statuses[kind].forget(key);
      this.#incomplete.delete(key);
    } else if (
      change.type === "updated" &&
      !desiredStateChanged(change.before, change.now, [FORCE_SYNC_ANNOTATION])
    ) {
      const delay = this.#statuses[kind].repairDelay(key, change.before, change.now);
      if (delay !== undefined) this.queue.addAfter(key, delay, "drift");
      return;
    }
    this.queue.addAfter(key, CHANGES_MS, "spec");
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const slash = key.indexOf("/");
    const name = key.slice(slash + 1);
    const kind = KINDS.find((one) => one === key.slice(0, slash)) ?? "ClusterVaultSecret";
    const objects = this.#options.objects[kind];
    const object = objects.resources.store.get(name);
    if (object === undefined) return GONE;
    if (object.metadata.deletionTimestamp !== undefined) return DONE;
    const writer = this.#statuses[kind];
    if (writer.isOutdated(key, object)) return AWAIT_WATCH;
    const parsed = this.#options.parse(kind, object);
    const { resource } = parsed;
    const parts = [...objects.of(name)]
      .filter(([namespace]) => !objects.isTerminating(namespace))
      .map(([namespace, one]): Part => ({ namespace, status: this.#statusOf(kind, one) }));
    const waitMs = this.#waitMs(key, parts, resource.generation);
    if (waitMs > 0) return { outcome: "done", wait: { for: "time", atMostMs: waitMs } };
    const stored = writer.current(key, object);
    const status = nextFanOutStatus(readFanOutStatus(kind, stored), {
      resource,
      invalid: parsed.ok ? undefined : parsed.readyCondition,
      parts,
      absent: objects.absent(name),
      now: this.#options.clock.now(),
    });
    await writer.write(key, object, status, signal);
    recordReadiness(this.#options.events, object, "Sync", stored, status);
    return DONE;
  }

  /** Returns the status of a resource in one namespace; each is parsed once. */
  #statusOf(kind: FanOutKind, { status }: KubeObject): SyncStatus | undefined {
    if (!isObject(status)) return undefined;
    const parsed = this.#parsed.get(status) ?? readStatus(kind, status);
    this.#parsed.set(status, parsed);
    return parsed;
  }

  /** Returns the time in milliseconds for which the status has to wait for namespaces. */
  #waitMs(key: string, parts: readonly Part[], generation: number): number {
    const now = this.#options.clock.monotonic();
    if (parts.every((part) => isKnown(part, generation))) {
      this.#incomplete.delete(key);
      return 0;
    }
    const since = this.#incomplete.get(key) ?? now;
    this.#incomplete.set(key, since);
    return Math.max(0, since + FIRST_MS - now);
  }
}
