/** One message to one person, apart from what the transport adds. Addresses are deliverable, `subject` is one line. */
export interface MailMessage {
  /** Names files. */
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly date: Date;
}

/** How messages leave. */
export interface MailTransport extends AsyncDisposable {
  /**
   * Resolves when somebody else has taken charge of the message. Aborting gives it up.
   * @throws MailRefusal, or whatever went wrong on the way
   */
  send(message: MailMessage, signal: AbortSignal): Promise<void>;
}

/** A refusal that asking again will not change. `code` says why, without any address. */
export class MailRefusal extends Error {
  override readonly name = "MailRefusal";
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`the message was refused for good: ${code}`, options);
    this.code = code;
  }
}
