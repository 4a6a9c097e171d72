import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeApi } from "./client/kube-api.ts";
import {
  apiVersionOf,
  EVENTS,
  microTime,
  type KubeObject,
  type ResourceDescriptor,
} from "./resource.ts";

/** An event of an object, for its owner to read with `kubectl describe`. */
export interface EventRecord {
  readonly resource: ResourceDescriptor;
  /**
   * Namespace of the object; empty for a cluster-scoped one, whose events are in the namespace
   * default.
   */
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
  readonly type: EventRecord["type"];
  readonly object: KubeObject;
  readonly startedAt: number;
  count: number;
  lastObservedTime: string;
  /** Monotonic time at which the last write was queued. */
  queuedAt: number;
  /** The count is written at the end of the interval between two writes. */
  isDue: boolean;
  /** The version that the last write returned; absent until the event was created. */
  resourceVersion: string | undefined;
}

/** The limit of the events of one object in a namespace, or of the normal ones of one reason in a namespace. */
interface Limit {
  readonly events: TokenBucket;
  /** Monotonic time of the last event. */
  readonly usedAt: number;
}

/**
 * Time within which a repeated event increases the count of the first one, in milliseconds; then it
 * is forgotten.
 */
const SERIES_MS = 600_000;
/** Interval between two writes of a count, in milliseconds. */
const SERIES_WRITE_MS = 60_000;
/**
 * Limits of client-go's spam filter: 25 events of one object in a burst, then one in five minutes.
 */
const OBJECT_LIMIT = { burst: 25, perSecond: 1 / 300 };
/**
 * Limits of the normal events of one reason in a namespace: all events of a few resources are
 * written, but the first sync of thousands does not cost an event next to the two writes of each.
 */
const REASON_LIMIT = { burst: 25, perSecond: 1 };
/** Namespace of the events of cluster-scoped objects: the API server rejects any other one. */
const CLUSTER_EVENTS = "default";
/**
 * Limits of all events together, a burst, then ten per second: a fault of thousands of objects
 * costs the API server little.
 */
const WRITE_BURST = 250;
const WRITES_PER_SECOND = 10;
/** Maximum number of events of one type that wait to be written. */
const MAX_QUEUE_LENGTH = 500;
/** Time after the last event after which a limit is forgotten, in milliseconds. */
const BUCKET_MS = 600_000;
const MAX_TRACKED = 10_000;

/**
 * Writes `events.k8s.io/v1` events one after the other at a limited rate, warnings first: the first
 * event of a series by POST, the count of its repetitions by PATCH. Events beyond the limit of an
 * object, a reason or the queue are dropped: they are informational, and the status is
 * authoritative.
 */
export class ApiEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #limits = new Map<string, Limit>();
  readonly #queues: Readonly<Record<EventRecord["type"], Series[]>> = { Warning: [], Normal: [] };
  readonly #writes: TokenBucket;
  readonly #wake: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#writes = new TokenBucket({
      clock: options.clock,
      perSecond: () => WRITES_PER_SECOND,
      burst: WRITE_BURST,
    });
  }

  /** Number of series and limits that are remembered. */
  get tracked(): number {
    return this.#series.size + this.#limits.size;
  }

  record(event: EventRecord): void {
    const now = this.#options.clock.monotonic();
    this.#forget(now);
    const series = this.#toWrite(event, now);
    if (series) this.#enqueue(series);
  }

  /** Writes recorded events until the signal is aborted; then resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake.shift()?.(), { once: true });
    while (!signal.aborted) {
      const isIdle = this.#queues.Warning.length + this.#queues.Normal.length === 0;
      if (isIdle) await new Promise<void>((resolve) => this.#wake.push(resolve));
      else await this.#writeNext(signal);
    }
  }

  #enqueue(series: Series): void {
    const queue = this.#queues[series.type];
    if (queue.length >= MAX_QUEUE_LENGTH) return;
    queue.push(series);
    this.#wake.shift()?.();
  }

  /**
   * Writes the first warning, or the first event if there is none, when the limit of all events
   * allows it.
   */
  async #writeNext(signal: AbortSignal): Promise<void> {
    if (!this.#writes.take()) {
      const waitMs = Math.ceil(this.#writes.nextInMs);
      return this.#options.clock.sleep(waitMs, signal).catch(() => undefined);
    }
    const series = this.#queues.Warning.shift() ?? this.#queues.Normal.shift();
    if (series) await this.#write(series, signal);
  }

  async #write(series: Series, signal: AbortSignal): Promise<void> {
    const { api, logger } = this.#options;
    const { object, resourceVersion, count, lastObservedTime } = series;
    try {
      const written = await (resourceVersion === undefined
        ? api.create(EVENTS, object, signal)
        : api.patch(
            EVENTS,
            { ...object.metadata, resourceVersion },
            { series: { count, lastObservedTime } },
            signal,
          ));
      series.resourceVersion = written.metadata.resourceVersion;
    } catch (error) {
      // The next repetition is a new event: this one may have been deleted, or never created.
      this.#series.delete(series.key);
      if (signal.aborted) return;
      logger.debug(
        { reason: isKubeError(error) ? error.message : "unknown" },
        "failed to write event",
      );
    }
  }

  /** Returns the series to write for this event, if any. */
  #toWrite(event: EventRecord, now: number): Series | undefined {
    const time = microTime(this.#options.clock.now());
    // A cluster-scoped resource has events in each namespace in which it has a target.
    const of = `${event.namespace}/${event.uid}`;
    const key = [of, event.type, event.reason, event.action, event.note].join("\n");
    const earlier = this.#series.get(key);
    if (earlier) {
      earlier.count += 1;
      earlier.lastObservedTime = time;
      this.#countLater(earlier, now);
      return undefined;
    }
    const reason = `${event.reason} in ${event.namespace}`;
    // First, because the limit of an object takes memory: the first sync of thousands has an event
    // of each.
    if (event.type === "Normal" && this.#isExhausted(reason)) return undefined;
    if (!this.#allow(`object ${of}`, OBJECT_LIMIT, now)) return undefined;
    if (event.type === "Normal" && !this.#allow(reason, REASON_LIMIT, now)) return undefined;
    const object = this.#objectOf(event, key, time);
    const { type } = event;
    const first = {
      key,
      type,
      object,
      startedAt: now,
      count: 1,
      lastObservedTime: time,
      queuedAt: now,
    };
    const series = { ...first, isDue: false, resourceVersion: undefined };
    remember(this.#series, key, series);
    return series;
  }

  /**
   * Writes the count of a series once it is allowed, to record the time of the last repetition
   * whatever happens next.
   */
  #countLater(series: Series, now: number): void {
    if (series.isDue) return;
    const { clock } = this.#options;
    const write = (): void => {
      series.isDue = false;
      series.queuedAt = clock.monotonic();
      this.#enqueue(series);
    };
    const waitMs = series.queuedAt + SERIES_WRITE_MS - now;
    if (waitMs <= 0) return write();
    series.isDue = true;
    clock.timer(waitMs, write);
  }

  /** Forgets what has expired. Both maps are in the order of their times. */
  #forget(now: number): void {
    for (const [key, { startedAt }] of this.#series) {
      if (now - startedAt < SERIES_MS) break;
      this.#series.delete(key);
    }
    for (const [of, { usedAt }] of this.#limits) {
      if (now - usedAt < BUCKET_MS) break;
      this.#limits.delete(of);
    }
  }

  #isExhausted(of: string): boolean {
    return (this.#limits.get(of)?.events.nextInMs ?? 0) > 0;
  }

  #allow(of: string, { burst, perSecond }: typeof OBJECT_LIMIT, now: number): boolean {
    const { clock } = this.#options;
    const events =
      this.#limits.get(of)?.events ?? new TokenBucket({ clock, perSecond: () => perSecond, burst });
    remember(this.#limits, of, { events, usedAt: now });
    return events.take();
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
