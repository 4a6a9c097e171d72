/**
 * A failure that repeating cannot mend: the controller loop never retries it. The key is looked at again when something about it
 * changes.
 */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TerminalError";
  }
}
