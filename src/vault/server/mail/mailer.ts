import { Backoff } from "../../../lib/backoff.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Random } from "../../../lib/random.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { VaultMetrics } from "../metrics.ts";
import { LONGEST_PROOF_MS, composeEmail, type SenderIdentity } from "./compose-email.ts";
import { isDeliverable, EmailRejectedError, type EmailTransport } from "./email-transport.ts";
import { codeOf } from "../../../lib/errors.ts";
import { isObject } from "../../../lib/is-object.ts";

/** Dependencies of the mailer. */
export interface MailerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: VaultMetrics;
  readonly transport: EmailTransport;
  /** Read at the time of sending. */
  readonly senderIdentity: () => SenderIdentity;
}

const POLL_MS = 5_000;
/** Maximum number of emails in flight. */
const CONCURRENCY = 4;
/** Timeout of one attempt, in milliseconds. */
const ATTEMPT_TIMEOUT_MS = 120_000;
/** Time in ms for which a claimed email is reserved for this process; longer than an attempt. */
const LEASE_MS = 300_000;
/** Grace period for emails in flight on shutdown, in milliseconds. */
const GRACE_MS = 5_000;
const RETRY = { baseMs: 60_000, maxMs: 3_600_000 };
/** About three days of attempts. */
const MAX_ATTEMPTS = 100;

function failureCodeOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error ? error.name : "unknown";
  return isObject(error) && typeof error["responseCode"] === "number"
    ? `${code} ${error["responseCode"]}`
    : code;
}

function retryDelay(attempts: number, random: Random): number {
  const backoff = new Backoff(RETRY, random);
  for (let failure = 1; failure < attempts; failure += 1) backoff.next();
  return backoff.next();
}

/**
 * Sends the emails of the outbox at least once, each by one process at a time. A failed email is
 * retried with backoff, from one minute to one hour, for about three days; a permanently rejected
 * one is given up immediately. Logs name emails by id: addresses are personal data.
 */
export class Mailer implements AsyncDisposable {
  readonly #ports: MailerPorts;
  /** Aborted on shutdown: no further emails are sent. */
  readonly #stopping = new AbortController();
  /** Aborted to cancel emails in flight. */
  readonly #cancelled = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #woken = false;

  constructor(ports: MailerPorts) {
    this.#ports = ports;
  }

  /** Polls the outbox, now and every few seconds. */
  start(): void {
    this.wake();
  }

  /** Polls the outbox immediately, because it has a new email. Does nothing after disposal. */
  wake(): void {
    this.#woken = true;
    if (this.#running || this.#stopping.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#woken && !this.#stopping.signal.aborted) {
      this.#woken = false;
      try {
        while (await this.#sendBatch());
      } catch (error) {
        this.#ports.logger.error({ error }, "reading the outbox failed");
      }
    }
    this.#running = undefined;
    if (!this.#stopping.signal.aborted)
      this.#timer = this.#ports.clock.timer(POLL_MS, () => this.wake());
  }

  /** Sends a batch, and reports whether the outbox may have more. */
  async #sendBatch(): Promise<boolean> {
    if (this.#stopping.signal.aborted) return false;
    const { store, clock, metrics } = this.#ports;
    const now = clock.now();
    const claimed = await store.write(({ outbox }) =>
      outbox.claim(now, now + LEASE_MS, CONCURRENCY),
    );
    await Promise.all(claimed.map((message) => this.#attempt(message)));
    metrics.emailsWaiting.set(await store.read(({ outbox }) => outbox.count()));
    return claimed.length === CONCURRENCY;
  }

  async #attempt(message: EmailMessage): Promise<void> {
    const { metrics } = this.#ports;
    let outcome: "sent" | "omitted";
    try {
      outcome = await this.#send(message);
    } catch (error) {
      await this.#failed(message, error);
      return;
    }
    metrics.emails.inc({ kind: message.kind, outcome });
    await this.#settle(message, ({ outbox }) => outbox.remove(message.id));
  }

  /** Sends an email, unless its recipient is to receive none. */
  async #send(message: EmailMessage): Promise<"sent" | "omitted"> {
    const { store, clock, transport, senderIdentity } = this.#ports;
    if (!isDeliverable(message.to)) throw new EmailRejectedError("EADDRESS");
    const composed = await store.write((transaction) =>
      composeEmail(transaction, message, senderIdentity(), clock.now()),
    );
    if (!composed) return "omitted";
    const timeout = new AbortController();
    using _timer = clock.timer(ATTEMPT_TIMEOUT_MS, () => timeout.abort());
    await transport.send(composed, AbortSignal.any([timeout.signal, this.#cancelled.signal]));
    return "sent";
  }

  async #failed(message: EmailMessage, error: unknown): Promise<void> {
    const { clock, random, logger, metrics } = this.#ports;
    const attempts = message.attempts + 1;
    const fields = {
      emailId: message.id,
      kind: message.kind,
      code: failureCodeOf(error),
      attempt: attempts,
    };
    if (this.#cancelled.signal.aborted) {
      // The shutdown cancelled it: the next process sends it without delay.
      await this.#settle(message, ({ outbox }) =>
        outbox.update({ ...message, dueAt: clock.now() }),
      );
      return;
    }
    if (error instanceof EmailRejectedError || attempts >= MAX_ATTEMPTS) {
      metrics.emails.inc({ kind: message.kind, outcome: "given_up" });
      logger.error(fields, "email undeliverable, giving up");
      await this.#settle(message, ({ outbox }) => outbox.remove(message.id));
      return;
    }
    metrics.emails.inc({ kind: message.kind, outcome: "failed" });
    logger.warn(fields, "sending email failed, will retry");
    const dueAt = clock.now() + retryDelay(attempts, random);
    await this.#settle(message, ({ outbox }) => outbox.update({ ...message, attempts, dueAt }));
  }

  /** Records the result. On failure the email is claimable again when its lease ends. */
  async #settle(
    { id, kind }: EmailMessage,
    work: (transaction: Transaction) => Promise<void>,
  ): Promise<void> {
    try {
      await this.#ports.store.write(work);
    } catch (error) {
      this.#ports.logger.error({ emailId: id, kind, error }, "writing the outbox failed");
    }
  }

  /** Removes what the transport keeps of emails whose links have expired. */
  async removeOld(now: number): Promise<void> {
    await this.#ports.transport.removeBefore?.(now - LONGEST_PROOF_MS);
  }

  /** Completes the emails in flight within a few seconds; the rest stays in the outbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
    using _timer = this.#ports.clock.timer(GRACE_MS, () => this.#cancelled.abort());
    await this.#running;
    await this.#ports.transport[Symbol.asyncDispose]();
  }
}
