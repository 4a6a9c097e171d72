import type { FastifyReply } from "fastify";
import type { Clock } from "../../../lib/clock.ts";
import { Slots } from "../../../lib/slots.ts";
import { errors } from "../errors.ts";
import { whenClosed } from "../http/when-closed.ts";

interface ListResponsesOptions {
  readonly clock: Clock;
  readonly limits: { readonly listResponsesPerAccount: number; readonly listTimeoutMs: number };
}

/**
 * Responses with a long list in memory that the clients of one account read. They share the list,
 * but each fills the buffers of its socket, and the system counts these as memory of the server.
 * Further ones wait in turn, for a limited time.
 */
export class ListResponses {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #slots: Slots;

  constructor({ clock, limits: { listResponsesPerAccount, listTimeoutMs } }: ListResponsesOptions) {
    this.#clock = clock;
    this.#timeoutMs = listTimeoutMs;
    this.#slots = new Slots(Infinity, listResponsesPerAccount);
  }

  /**
   * Resolves when a response of an account may be sent; it counts until it has been read. @throws
   * ServiceError `rate_limited`
   */
  async enter(email: string, reply: FastifyReply): Promise<void> {
    const timeout = new AbortController();
    using _timer = this.#clock.timer(this.#timeoutMs, () =>
      timeout.abort(errors.tooManyLists(this.#timeoutMs, email)),
    );
    await this.#slots.take(timeout.signal, email, 1);
    whenClosed(reply, () => this.#slots.release(email, 1));
  }
}
