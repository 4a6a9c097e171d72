import { systemClock, yieldToEventLoop, type Clock } from "../../../lib/clock.ts";
import { Backoff } from "../../../lib/backoff.ts";
import { codeOf } from "../../../lib/errors.ts";
import { silentLogger, type Logger } from "../../../lib/logger.ts";
import { systemRandom } from "../../../lib/random.ts";
import { createAuditSink, type AuditSink } from "./audit-sink.ts";
import type { ForwardTarget } from "./forward-target.ts";

/** Maximum size of the lines that wait for the target, in bytes. */
const QUEUE_BYTES = 8 * 1024 * 1024;
/** Time for the lines that still wait when the server stops, in milliseconds. */
const FLUSH_MS = 2000;

interface ForwardMetrics {
  readonly auditForwarded: { inc(lines: number): void };
  readonly auditForwardDropped: {
    inc(labels: { readonly reason: "queue_full" | "too_long" | "stopped" }, lines: number): void;
  };
}

export interface AuditForwarderOptions {
  readonly sink: AuditSink;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ForwardMetrics;
  readonly queueBytes?: number;
}

interface ForwardingServer {
  readonly auditLog?: { readonly forward?: ForwardTarget };
  readonly clock?: Clock;
  readonly logger?: Logger;
}

/** Lines of one write to the audit log. */
interface Block {
  readonly bytes: number;
  readonly lines: readonly string[];
}

/**
 * Copies the lines that the audit log has written to a target, in order. It never delays or fails a
 * request: lines wait in memory up to a limit, beyond which they are counted and dropped. A failed
 * block is sent again as a whole: a line may arrive twice, and `seq` identifies it.
 */
export class AuditForwarder implements AsyncDisposable {
  readonly #options: AuditForwarderOptions;
  readonly #queueBytes: number;
  readonly #backoff = new Backoff({ baseMs: 1000, maxMs: 30_000 }, systemRandom);
  readonly #stop = new AbortController();
  readonly #queue: Block[] = [];
  #bytes = 0;
  #running: Promise<void> | undefined;
  #started = false;
  #failing = false;

  constructor(options: AuditForwarderOptions) {
    this.#options = options;
    this.#queueBytes = options.queueBytes ?? QUEUE_BYTES;
  }

  /** Begins to send in the next turn of the event loop; lines before that wait. */
  start(): void {
    // Not in this turn: with stdout, the caller prints the line that reports readiness first.
    void yieldToEventLoop().then(() => {
      this.#started = true;
      this.#run();
    });
  }

  /** Takes the lines of one write; each ends with a newline. */
  offer(written: Buffer): void {
    const lines = written.toString("utf8").trimEnd().split("\n");
    if (this.#bytes + written.length > this.#queueBytes)
      return this.#drop("queue_full", lines.length);
    this.#queue.push({ bytes: written.length, lines });
    this.#bytes += written.length;
    if (this.#started) this.#run();
  }

  /** The option of the audit log that offers its lines. */
  readonly hook = { onWritten: (lines: Buffer): void => this.offer(lines) };

  #drop(reason: "queue_full" | "too_long" | "stopped", lines: number): void {
    this.#options.metrics.auditForwardDropped.inc({ reason }, lines);
  }

  #run(): void {
    if (this.#running || this.#queue.length === 0 || this.#stop.signal.aborted) return;
    this.#running = this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    for (let block = this.#queue[0]; block && !this.#stop.signal.aborted; block = this.#queue[0]) {
      try {
        const dropped = await this.#options.sink.send(block.lines);
        // Lines that waited too long at the stop are counted already.
        if (!this.#stop.signal.aborted) this.#sent(block, dropped);
      } catch (error) {
        await this.#wait(error);
      }
    }
    // In the same turn as the last check of the queue: no line stays in it.
    this.#running = undefined;
  }

  #sent({ bytes, lines }: Block, dropped: number): void {
    const { logger, metrics } = this.#options;
    this.#queue.shift();
    this.#bytes -= bytes;
    metrics.auditForwarded.inc(lines.length - dropped);
    if (dropped > 0) this.#drop("too_long", dropped);
    this.#backoff.reset();
    if (this.#failing)
      logger.info({ event: "audit_forward_available" }, "forwarding the audit log again");
    this.#failing = false;
  }

  async #wait(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { logger, clock } = this.#options;
    const fields = { event: "audit_forward_failed", reason: codeOf(error) ?? "failed" };
    if (!this.#failing) logger.warn(fields, "forwarding the audit log failed, retrying");
    this.#failing = true;
    await clock.sleep(this.#backoff.next(), this.#stop.signal).catch(() => undefined);
  }

  /** Sends what waits, for two seconds at most. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { clock, sink } = this.#options;
    const { promise: end, resolve } = Promise.withResolvers<void>();
    using _end = clock.timer(FLUSH_MS, resolve);
    if (!this.#failing) {
      this.#run();
      await Promise.race([this.#running, end]);
    }
    this.#stop.abort();
    sink[Symbol.dispose]();
    const left = this.#queue.reduce((sum, { lines }) => sum + lines.length, 0);
    if (left > 0) this.#drop("stopped", left);
  }
}

/**
 * Adds a forwarder to the resources of a server whose audit log has a target, before the log: the
 * log is closed first.
 */
export function forwardAudit(
  running: AsyncDisposableStack,
  { auditLog, clock = systemClock, logger = silentLogger }: ForwardingServer,
  metrics: ForwardMetrics,
): AuditForwarder | undefined {
  if (!auditLog?.forward) return undefined;
  return running.use(
    new AuditForwarder({ sink: createAuditSink(auditLog.forward), clock, logger, metrics }),
  );
}
