import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeApi } from "./client/kube-api.ts";
import { apiVersionOf, EVENTS, microTime, type KubeObject, type ResourceDescriptor } from "./resource.ts";

/** An event of an object, which its owner reads with `kubectl describe`. */
export interface EventRecord {
  readonly resource: ResourceDescriptor;
  /** Namespace of the object; empty for a cluster-scoped one, whose events are in the namespace default. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, from a closed set. */
  readonly reason: string;
  /** The attempted action, one word in CamelCase. */
  readonly action: string;
  /** A sentence without any secret value; truncated to 1,000 bytes. */
  readonly note: string;
}

/** Records events without blocking or failing the caller. */
export interface EventRecorder {
  record(event: EventRecord): void;
}

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The reporting controller, e.g. `vaultsync.dev/operator`. */
  readonly controller: string;
  /** The reporting instance: the pod's name. */
  readonly instance: string;
}

/** An event that was created, or is to be, and its repetitions. */
interface Series {
  readonly key: string;
  readonly object: KubeObject;
  readonly startedAt: number;
  count: number;
  lastObservedTime: string;
  /** Monotonic time at which the last write was queued. */
  queuedAt: number;
  /** The version that the last write returned; absent until the event was created. */
  resourceVersion: string | undefined;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Time within which a repeated event increases the count of the first one, in milliseconds; then it is forgotten. */
const SERIES_MS = 600_000;
/** Minimum interval between two writes of a count, in milliseconds. */
const SERIES_WRITE_MS = 60_000;
/** Limits of client-go's spam filter: 25 events of one object in a burst, then one in five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
/** Namespace of the events of cluster-scoped objects: the API server rejects any other one. */
const CLUSTER_EVENTS = "default";
const MAX_QUEUE_LENGTH = 1_000;
/** Time after the last event of an object after which its limit is forgotten, in milliseconds. */
const BUCKET_MS = 600_000;
const MAX_TRACKED = 10_000;

/**
 * Writes `events.k8s.io/v1` events one after the other: the first event of a series by POST, the count of its repetitions by
 * PATCH. Events beyond the limit of an object or of the queue are dropped: they are informational, and the status is
 * authoritative.
 */
export class ApiEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #queue: Series[] = [];
  readonly #wake: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Number of series and limits that are remembered. */
  get tracked(): number {
    return this.#series.size + this.#buckets.size;
  }

  record(event: EventRecord): void {
    const now = this.#options.clock.monotonic();
    this.#forget(now);
    const series = this.#toWrite(event, now);
    if (!series || this.#queue.length >= MAX_QUEUE_LENGTH) return;
    this.#queue.push(series);
    this.#wake.shift()?.();
  }

  /** Writes recorded events until the signal is aborted; then resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake.shift()?.(), { once: true });
    while (!signal.aborted) {
      const series = this.#queue.shift();
      if (series) await this.#write(series, signal);
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    const { api, logger } = this.#options;
    const { object, resourceVersion, count, lastObservedTime } = series;
    try {
      const written = await (resourceVersion === undefined
        ? api.create(EVENTS, object, signal)
        : api.patch(EVENTS, { ...object.metadata, resourceVersion }, { series: { count, lastObservedTime } }, signal));
      series.resourceVersion = written.metadata.resourceVersion;
    } catch (error) {
      // The next repetition is a new event: this one may have been deleted, or never created.
      this.#series.delete(series.key);
      if (signal.aborted) return;
      logger.debug({ reason: isKubeError(error) ? error.message : "unknown" }, "failed to write event");
    }
  }

  /** Returns the series to write for this event, if any. */
  #toWrite(event: EventRecord, now: number): Series | undefined {
    const time = microTime(this.#options.clock.now());
    const key = [event.uid, event.type, event.reason, event.action, event.note].join("\n");
    const series = this.#series.get(key);
    if (series) {
      series.count += 1;
      series.lastObservedTime = time;
      if (now - series.queuedAt < SERIES_WRITE_MS) return undefined;
      series.queuedAt = now;
      return series;
    }
    if (!this.#allow(event.uid, now)) return undefined;
    const object = this.#objectOf(event, key, time);
    const first = { key, object, startedAt: now, count: 1, lastObservedTime: time, queuedAt: now, resourceVersion: undefined };
    remember(this.#series, key, first);
    return first;
  }

  /** Forgets what has expired. Both maps are in the order of their times. */
  #forget(now: number): void {
    for (const [key, { startedAt }] of this.#series) {
      if (now - startedAt < SERIES_MS) break;
      this.#series.delete(key);
    }
    for (const [uid, { at }] of this.#buckets) {
      if (now - at < BUCKET_MS) break;
      this.#buckets.delete(uid);
    }
  }

  #allow(uid: string, now: number): boolean {
    const before = this.#buckets.get(uid) ?? { tokens: BURST, at: now };
    const tokens = Math.min(BURST, before.tokens + (now - before.at) / REFILL_MS);
    const allowed = tokens >= 1;
    remember(this.#buckets, uid, { tokens: allowed ? tokens - 1 : tokens, at: now });
    return allowed;
  }

  #objectOf(event: EventRecord, key: string, time: string): KubeObject {
    const { controller, instance } = this.#options;
    const { resource, namespace, name, uid, type, reason, action } = event;
    const digest = createHash("sha256").update(`${key}\n${time}`).digest("hex").slice(0, 16);
    return {
      apiVersion: apiVersionOf(EVENTS),
      kind: EVENTS.kind,
      metadata: { namespace: namespace || CLUSTER_EVENTS, name: `${name.slice(0, 200)}.${digest}` },
      regarding: {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        ...(namespace !== "" && { namespace }),
        name,
        uid,
      },
      type,
      reason,
      action,
      note: Buffer.from(event.note).subarray(0, 1_000).toString(),
      reportingController: controller,
      reportingInstance: instance,
      eventTime: time,
    };
  }
}

/** Sets the entry as the newest one and removes the oldest one over the limit. */
function remember<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MAX_TRACKED) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
