/** Tasks that run in the background until the operator ends. */
export class Background implements AsyncDisposable {
  readonly #ended = new AbortController();
  readonly #work: Promise<void>[] = [];

  run(task: (ended: AbortSignal) => Promise<void>): void {
    this.#work.push(task(this.#ended.signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort(new Error("the operator is shutting down"));
    await Promise.allSettled(this.#work);
  }
}
