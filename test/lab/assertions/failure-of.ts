/**
 * Returns the rejection reason of a promise; rejects when the promise resolves. May be awaited
 * later without an unhandled rejection.
 */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("expected the promise to reject");
    },
    (error: unknown) => error,
  );
}
