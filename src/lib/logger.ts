/**
 * What every room logs through; the one implementation is in `telemetry`. `fields` hold names, versions, counts and codes, never a
 * value, token or password.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(bindings: object): Logger;
}

const nothing = (): void => undefined;

/** Drops everything; for embedding and tests. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
};
