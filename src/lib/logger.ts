/**
 * The port for logging, implemented in `telemetry`. `fields` contain names, versions, counts and
 * codes, never a secret value, token or password.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: object): Logger;
}

const nothing = (): void => undefined;

/** Drops every line; for embedding and tests. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};
