import { pino, type DestinationStream, type Level, type Logger as PinoLogger } from "pino";
import { systemClock, type Timer } from "../lib/clock.ts";
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

/** Maximum time that a line below `warn` waits for further ones, in milliseconds. */
const BATCH_MS = 20;
const WARN = pino.levels.values["warn"] ?? 0;
/** Length of the waiting lines, in characters, from which they do not wait. */
const BATCH_LENGTH = 16 * 1024;

/** With this property of a destination, pino sets `lastLevel` before each line. */
const SETS_LEVEL: unique symbol = Symbol.for("pino.metadata");

/**
 * Writes lines to standard error, several in one write: thousands of resources that are synced for
 * the first time log a line each, and a write of each line took a twelfth of their CPU time. A
 * warning is written immediately, with the lines before it, and the end of the process writes the
 * rest; only a kill loses the lines of the last {@link BATCH_MS}. A failure of the destination ends
 * nothing: a full disk of the log must not stop the program.
 */
class StandardError implements DestinationStream {
  readonly [SETS_LEVEL] = true;
  lastLevel = 0;
  readonly #destination = pino.destination({ fd: 2, sync: true, maxLength: MAX_WAITING });
  #lines = "";
  #timer: Timer | undefined;

  constructor() {
    this.#destination.on("error", () => undefined);
    process.on("exit", () => this.#flush());
  }

  write(line: string): void {
    this.#lines += line;
    if (this.lastLevel >= WARN || this.#lines.length >= BATCH_LENGTH) this.#flush();
    else this.#timer ??= systemClock.timer(BATCH_MS, () => this.#flush());
  }

  #flush(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const lines = this.#lines;
    this.#lines = "";
    if (lines !== "") this.#destination.write(lines);
  }
}

/** Created when the first logger needs it, because it has a listener of the process. */
let standardError: DestinationStream | undefined;

/**
 * Creates a logger that writes one JSON line per event, with an ISO 8601 timestamp. Fields not in
 * `logFields` are masked.
 */
export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? (standardError ??= new StandardError());
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
