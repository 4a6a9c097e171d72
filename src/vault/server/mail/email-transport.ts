import type { SendMailOptions } from "nodemailer";

/** An email to one recipient, ready to send. Addresses are deliverable; `subject` is one line. */
export interface ComposedEmail {
  /** Part of the name of an `.eml` file. */
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly date: Date;
}

/** Sends emails: by SMTP or as files. */
export interface EmailTransport extends AsyncDisposable {
  /**
   * Resolves when the server has accepted the message, or the file is written. Aborting cancels it.
   * @throws EmailRejectedError when retrying cannot help; any other error is temporary
   */
  send(message: ComposedEmail, signal: AbortSignal): Promise<void>;
  /** Removes the emails sent before `timestamp` that the transport keeps. */
  removeBefore?(timestamp: number): Promise<void>;
}

/** A permanent rejection: retrying will not help. `code` is the reason, without any address. */
export class EmailRejectedError extends Error {
  override readonly name = "EmailRejectedError";
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`the message was rejected permanently: ${code}`, options);
    this.code = code;
  }
}

/**
 * Returns a message in nodemailer's form: addresses as objects that need no parsing, and no access
 * to files or URLs.
 */
export function sendOptions({
  from,
  to,
  subject,
  text,
  html,
  messageId,
  date,
}: ComposedEmail): SendMailOptions {
  return {
    from: { name: "Vaultsync", address: from },
    to: { name: "", address: to },
    envelope: { from, to },
    subject,
    text,
    html,
    messageId,
    date,
    // RFC 3834: suppresses out-of-office replies.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const LABEL = "[\\p{L}\\p{N}\\p{M}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?";
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, "u");
/** RFC 5322 `dot-atom`, with the characters RFC 6531 adds. */
const DOT_ATOM = /^[^\s"(),:;<>@[\\\].\p{C}]+(?:\.[^\s"(),:;<>@[\\\].\p{C}]+)*$/u;
/** A quoted string without characters that need an escape or could be parsed as another address. */
const QUOTED = /^"[^\s"\\<>@\p{C}]+"$/u;

/**
 * Reports whether an email can be sent to or from exactly this address. Accounts may have other
 * addresses (`isEmailAddress`); those would have to be rewritten, and a proof must reach only the
 * address it is for. Domain literals are not supported.
 */
export function isDeliverable(email: string): boolean {
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  return at > 0 && (DOT_ATOM.test(local) || QUOTED.test(local)) && DOMAIN.test(email.slice(at + 1));
}
