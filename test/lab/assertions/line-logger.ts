import type { Logger } from "../../../src/lib/logger.ts";

/**
 * Returns a logger that passes the message and fields of every line, including the lines of its
 * children, to `check`.
 */
export function lineLogger(check: (line: string) => void): Logger {
  const write = (fields: object, message: string): void => check(message + JSON.stringify(fields));
  const logger: Logger = {
    debug: write,
    info: write,
    warn: write,
    error: write,
    child: () => logger,
  };
  return logger;
}
