import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeApi } from "./client/kube-api.ts";
import { apiVersionOf, EVENTS, microTime, type KubeObject, type ResourceDescriptor } from "./resource.ts";

/** An event of an object, which its owner reads with `kubectl describe`. */
export interface EventRecord {
  readonly resource: ResourceDescriptor;
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

/** The first event of a series, and the number of its repetitions. */
interface Series {
  readonly object: KubeObject;
  readonly startedAt: number;
  count: number;
  writtenAt: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Time within which a repeated event increases the count of the first one, in milliseconds. */
const SERIES_MS = 600_000;
/** Minimum interval between two writes of a count, in milliseconds. */
const SERIES_WRITE_MS = 60_000;
/** Limits of client-go's spam filter: 25 events of one object in a burst, then one in five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_QUEUE_LENGTH = 1_000;
const MAX_TRACKED = 10_000;

/**
 * Writes `events.k8s.io/v1` events one after the other by server-side apply, which requires the verbs `create` and `patch`. A
 * repeated event increases the count of the first one. Events beyond the limit of an object or of the queue are dropped: they are
 * informational, and the status is authoritative.
 */
export class ApiEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #queue: KubeObject[] = [];
  readonly #wake: (() => void)[] = [];

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  record(event: EventRecord): void {
    const object = this.#toWrite(event);
    if (!object || this.#queue.length >= MAX_QUEUE_LENGTH) return;
    this.#queue.push(object);
    this.#wake.shift()?.();
  }

  /** Writes recorded events until the signal is aborted; then resolves. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake.shift()?.(), { once: true });
    while (!signal.aborted) {
      const object = this.#queue.shift();
      if (object) await this.#write(object, signal);
      else await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async #write(object: KubeObject, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.api.apply(EVENTS, object, { force: true }, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#options.logger.debug({ reason: isKubeError(error) ? error.message : "unknown" }, "failed to write event");
    }
  }

  /** Returns the object to write for this event, if any. */
  #toWrite(event: EventRecord): KubeObject | undefined {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const time = microTime(clock.now());
    const key = [event.uid, event.type, event.reason, event.action, event.note].join("\n");
    const series = this.#series.get(key);
    if (series && now - series.startedAt < SERIES_MS) {
      series.count += 1;
      if (now - series.writtenAt < SERIES_WRITE_MS) return undefined;
      series.writtenAt = now;
      return { ...series.object, series: { count: series.count, lastObservedTime: time } };
    }
    if (!this.#allow(event.uid, now)) return undefined;
    const object = this.#objectOf(event, key, time);
    remember(this.#series, key, { object, startedAt: now, count: 1, writtenAt: now });
    return object;
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
      metadata: { namespace, name: `${name.slice(0, 200)}.${digest}` },
      regarding: { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace, name, uid },
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
