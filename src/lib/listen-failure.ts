import { codeOf } from "./error-code.ts";

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
