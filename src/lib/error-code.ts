/**
 * Returns the `code` of an error of Node or of a library, e.g. `ENOENT`; `undefined` when it has
 * none or the code is not a string.
 */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}
