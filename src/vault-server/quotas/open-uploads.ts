import { errors } from "../errors.ts";

/** Uploads in progress at this process, by account: each takes memory and a connection. */
export class OpenUploads {
  readonly #limit: number;
  readonly #open = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts an upload until disposed. @throws ServiceError `quota_exceeded` */
  enter(email: string): Disposable {
    const own = this.#open.get(email) ?? 0;
    if (own >= this.#limit) throw errors.quotaExceeded("uploads", this.#limit);
    this.#open.set(email, own + 1);
    return { [Symbol.dispose]: () => this.#leave(email) };
  }

  #leave(email: string): void {
    const left = (this.#open.get(email) ?? 1) - 1;
    if (left === 0) this.#open.delete(email);
    else this.#open.set(email, left);
  }
}
