/** A failed request to the API server: an expected reason to reconcile again. */
export abstract class ApiError extends Error {
  /** Kind of the failure, in one word. */
  abstract readonly kind: string;
  /** Minimum time before a retry according to the API server, in milliseconds. */
  abstract readonly retryAfterMs: number | undefined;
}
