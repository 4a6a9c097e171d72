/** The attempt failed in a way that another one may mend; the queue waits at least `retryAfterMs`. */
export class RetryLaterError extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, retryAfterMs?: number) {
    super(reason);
    this.name = "RetryLaterError";
    this.retryAfterMs = retryAfterMs;
  }
}
