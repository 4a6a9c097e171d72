import type { ServiceError } from "../errors.ts";

/**
 * Uploads or downloads in progress at this process, by account: each takes memory and a connection.
 */
export class OpenTransfers {
  readonly #limit: number;
  readonly #rejection: () => ServiceError;
  readonly #open = new Map<string, number>();

  constructor(limit: number, rejection: () => ServiceError) {
    this.#limit = limit;
    this.#rejection = rejection;
  }

  /** Counts a transfer until disposed. @throws ServiceError when an account has too many */
  enter(email: string): Disposable {
    const own = this.#open.get(email) ?? 0;
    if (own >= this.#limit) throw this.#rejection();
    this.#open.set(email, own + 1);
    return { [Symbol.dispose]: () => this.#leave(email) };
  }

  #leave(email: string): void {
    const left = (this.#open.get(email) ?? 1) - 1;
    if (left === 0) this.#open.delete(email);
    else this.#open.set(email, left);
  }
}
