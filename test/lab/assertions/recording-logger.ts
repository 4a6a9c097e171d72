import type { Logger } from "../../../src/lib/logger.ts";
import { redactFields } from "../../../src/telemetry/redact.ts";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Returns a logger that records its lines, redacted as in production. */
export function recordingLogger(): { readonly logger: Logger; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const loggerWith = (bindings: object): Logger => {
    const at =
      (level: LogLine["level"]) =>
      (fields: object, message: string): void =>
        void lines.push({
          level,
          fields: { ...redactFields({ ...bindings, ...fields }) },
          message,
        });
    const child = (more: object): Logger => loggerWith({ ...bindings, ...more });
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), child };
  };
  return { logger: loggerWith({}), lines };
}

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
