import { pino, type DestinationStream, type Level, type Logger as PinoLogger } from "pino";
import type { Logger } from "../lib/logger.ts";
import { redactFields } from "./redact.ts";

export type LogLevel = Exclude<Level, "trace" | "fatal">;

export interface LoggerOptions {
  /** Name of the program, printed as `program` on every line. */
  readonly name: string;
  readonly level: LogLevel;
  /**
   * Destination of the lines; standard error by default, because standard output is for results.
   */
  readonly destination?: DestinationStream;
}

class RedactingLogger implements Logger {
  readonly #pino: PinoLogger;

  constructor(inner: PinoLogger) {
    this.#pino = inner;
  }

  debug(fields: object, message: string): void {
    if (this.#pino.isLevelEnabled("debug")) this.#pino.debug(redactFields(fields), message);
  }

  info(fields: object, message: string): void {
    this.#pino.info(redactFields(fields), message);
  }

  warn(fields: object, message: string): void {
    this.#pino.warn(redactFields(fields), message);
  }

  error(fields: object, message: string): void {
    this.#pino.error(redactFields(fields), message);
  }

  child(bindings: object): Logger {
    return new RedactingLogger(this.#pino.child(redactFields(bindings)));
  }
}

/**
 * Maximum length of the lines that wait for a destination that cannot be written, in characters.
 */
const MAX_WAITING = 1024 * 1024;

/**
 * Returns standard error as a destination whose failure ends nothing: a full disk of the log must
 * not stop the program.
 */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: true, maxLength: MAX_WAITING });
  destination.on("error", () => undefined);
  return destination;
}

/**
 * Creates a logger that writes one JSON line per event, with an ISO 8601 timestamp. Fields not in
 * `logFields` are masked.
 */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? standardError();
  return new RedactingLogger(
    pino(
      {
        level: options.level,
        base: { program: options.name },
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      destination,
    ),
  );
}
