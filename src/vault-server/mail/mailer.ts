import { Backoff } from "../../lib/backoff.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Random } from "../../lib/random.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { VaultMetrics } from "../metrics.ts";
import { composeEmail, type SenderIdentity } from "./compose-email.ts";
import { isDeliverable, EmailRejectedError, type EmailTransport } from "./email-transport.ts";
import { codeOf } from "../../lib/error-code.ts";
import { isObject } from "../../lib/is-object.ts";

/** What the mailer works with. */
export interface MailerPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: VaultMetrics;
  readonly transport: EmailTransport;
  /** As of the time of sending. */
  readonly senderIdentity: () => SenderIdentity;
}

const POLL_MS = 5_000;
/** Letters sent at the same time. */
const AT_ONCE = 4;
/** The longest one attempt may take. */
const ATTEMPT_MS = 120_000;
/** How long a claimed letter is nobody else's: longer than an attempt. */
const LEASE_MS = 300_000;
/** What is under way may take this long once the mailer is told to stop. */
const STOP_MS = 5_000;
const RETRY = { baseMs: 60_000, maxMs: 3_600_000 };
/** About three days of attempts. */
const ATTEMPTS = 100;

function failureCodeOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error ? error.name : "unknown";
  return isObject(error) && typeof error["responseCode"] === "number" ? `${code} ${error["responseCode"]}` : code;
}

function retryDelay(attempts: number, random: Random): number {
  const backoff = new Backoff(RETRY, random);
  for (let failure = 1; failure < attempts; failure += 1) backoff.next();
  return backoff.next();
}

/**
 * Takes letters from the outbox and sends them: at least once, to one person by one process at a time. What fails is tried again after a
 * minute, then twice as long, up to an hour, for about three days; what the recipient's server refuses for good is given up at once.
 * Source: issue 4. Logs name letters by id: addresses are personal data.
 */
export class Mailer implements AsyncDisposable {
  readonly #ports: MailerPorts;
  /** No further letter. */
  readonly #stop = new AbortController();
  /** Not even those under way. */
  readonly #cut = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #woken = false;

  constructor(ports: MailerPorts) {
    this.#ports = ports;
  }

  /** Starts to look into the outbox, now and every few seconds. */
  start(): void {
    this.wake();
  }

  /** Says that there is a new letter. Does nothing after disposal. */
  wake(): void {
    this.#woken = true;
    if (this.#running || this.#stop.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (this.#woken && !this.#stop.signal.aborted) {
      this.#woken = false;
      try {
        while (await this.#sendSome());
      } catch (error) {
        this.#ports.logger.error({ error }, "the outbox could not be read");
      }
    }
    this.#running = undefined;
    if (!this.#stop.signal.aborted) this.#timer = this.#ports.clock.timer(POLL_MS, () => this.wake());
  }

  /** Answers whether there may be more to send. */
  async #sendSome(): Promise<boolean> {
    if (this.#stop.signal.aborted) return false;
    const { store, clock, metrics } = this.#ports;
    const now = clock.now();
    const claimed = await store.write(({ outbox }) => outbox.claim(now, now + LEASE_MS, AT_ONCE));
    await Promise.all(claimed.map((letter) => this.#attempt(letter)));
    metrics.emailsWaiting.set(await store.read(({ outbox }) => outbox.count()));
    return claimed.length === AT_ONCE;
  }

  async #attempt(letter: EmailMessage): Promise<void> {
    const { metrics } = this.#ports;
    try {
      await this.#send(letter);
    } catch (error) {
      await this.#failed(letter, error);
      return;
    }
    metrics.emails.inc({ kind: letter.kind, outcome: "sent" });
    await this.#settle(letter, ({ outbox }) => outbox.remove(letter.id));
  }

  async #send(letter: EmailMessage): Promise<void> {
    const { store, clock, transport, senderIdentity } = this.#ports;
    if (!isDeliverable(letter.to)) throw new EmailRejectedError("EADDRESS");
    const message = await store.write((transaction) => composeEmail(transaction, letter, senderIdentity(), clock.now()));
    const cut = new AbortController();
    using _ends = clock.timer(ATTEMPT_MS, () => cut.abort());
    await transport.send(message, AbortSignal.any([cut.signal, this.#cut.signal]));
  }

  async #failed(letter: EmailMessage, error: unknown): Promise<void> {
    const { clock, random, logger, metrics } = this.#ports;
    const attempts = letter.attempts + 1;
    const fields = { emailId: letter.id, kind: letter.kind, code: failureCodeOf(error), attempt: attempts };
    if (this.#cut.signal.aborted) {
      // Not its fault: whoever runs next tries at once.
      await this.#settle(letter, ({ outbox }) => outbox.update({ ...letter, dueAt: clock.now() }));
      return;
    }
    if (error instanceof EmailRejectedError || attempts >= ATTEMPTS) {
      metrics.emails.inc({ kind: letter.kind, outcome: "given_up" });
      logger.error(fields, "a letter could not be delivered and is given up");
      await this.#settle(letter, ({ outbox }) => outbox.remove(letter.id));
      return;
    }
    metrics.emails.inc({ kind: letter.kind, outcome: "failed" });
    logger.warn(fields, "a letter could not be sent and is tried again later");
    const dueAt = clock.now() + retryDelay(attempts, random);
    await this.#settle(letter, ({ outbox }) => outbox.update({ ...letter, attempts, dueAt }));
  }

  /** Failing here leaves the letter to the end of its lease. */
  async #settle({ id, kind }: EmailMessage, work: (transaction: Transaction) => Promise<void>): Promise<void> {
    try {
      await this.#ports.store.write(work);
    } catch (error) {
      this.#ports.logger.error({ emailId: id, kind, error }, "the outbox could not be written");
    }
  }

  /** Finishes what is under way, within a few seconds; the rest stays in the outbox. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#timer?.[Symbol.dispose]();
    using _ends = this.#ports.clock.timer(STOP_MS, () => this.#cut.abort());
    await this.#running;
    await this.#ports.transport[Symbol.asyncDispose]();
  }
}
