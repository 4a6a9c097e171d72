/**
 * Returns the `code` of an error of Node or of a library, e.g. `ENOENT`; `undefined` when it has
 * none or the code is not a string.
 */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;
}

/** Returns the message of what was thrown. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/**
 * Returns the failure to listen on an address that `flag` chooses: with its remedy, if another
 * program listens there.
 */
export function listenFailure(
  error: unknown,
  listen: { readonly host: string; readonly port: number },
  flag: string,
): unknown {
  if (codeOf(error) !== "EADDRINUSE") return error;
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return new Error(
    `${host}:${listen.port} is in use (EADDRINUSE): stop the program that listens there, or choose another with ${flag} HOST:PORT`,
  );
}
