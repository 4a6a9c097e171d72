/** What a promise fails with; itself fails when the promise does not. May be left waiting while a test moves on. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("did not fail");
    },
    (error: unknown) => error,
  );
}
