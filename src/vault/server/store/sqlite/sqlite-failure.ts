import { StoreUnavailableError } from "../store.ts";

/** Another process is writing the data file; nothing has been changed. */
export class BusyFileError extends StoreUnavailableError {
  constructor(options?: ErrorOptions) {
    super("another process is writing the data file", options);
  }
}

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;

const reasons: ReadonlyMap<number, string> = new Map([
  [SQLITE_IOERR, "the data file cannot be read or written"],
  [SQLITE_FULL, "the disk of the data file is full"],
]);

/** Maps failures that do not depend on the request to `StoreUnavailableError`; others stay. */
export function sqliteFailure(error: unknown): unknown {
  if (!(error instanceof Error && "errcode" in error && typeof error.errcode === "number"))
    return error;
  // The low byte is the primary result code of an extended one.
  const code = error.errcode & 0xff;
  if (code === SQLITE_BUSY) return new BusyFileError({ cause: error });
  const reason = reasons.get(code);
  return reason === undefined ? error : new StoreUnavailableError(reason, { cause: error });
}
