import type { SendMailOptions } from "nodemailer";

/** One message to one person, apart from what the transport adds. Addresses are deliverable, `subject` is one line. */
export interface ComposedEmail {
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
export interface EmailTransport extends AsyncDisposable {
  /**
   * Resolves when somebody else has taken charge of the message. Aborting gives it up.
   * @throws EmailRejectedError, or whatever went wrong on the way
   */
  send(message: ComposedEmail, signal: AbortSignal): Promise<void>;
}

/** A refusal that asking again will not change. `code` says why, without any address. */
export class EmailRejectedError extends Error {
  override readonly name = "EmailRejectedError";
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`the message was refused for good: ${code}`, options);
    this.code = code;
  }
}

/** A message as nodemailer takes it: addresses as objects, so that none is parsed, and nothing read from files or URLs. */
export function sendOptions({ from, to, subject, text, html, messageId, date }: ComposedEmail): SendMailOptions {
  return {
    from: { name: "Vaultsync", address: from },
    to: { name: "", address: to },
    envelope: { from, to },
    subject,
    text,
    html,
    messageId,
    date,
    // RFC 3834: no out-of-office answers, please.
    headers: { "Auto-Submitted": "auto-generated" },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

const LABEL = "[\\p{L}\\p{N}\\p{M}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?";
const DOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, "u");
/** RFC 5322 `dot-atom`, with the characters RFC 6531 adds. */
const DOT_ATOM = /^[^\s"(),:;<>@[\\\].\p{C}]+(?:\.[^\s"(),:;<>@[\\\].\p{C}]+)*$/u;
/** A quoted string with nothing in it that would need an escape, or could be taken for an address of its own. */
const QUOTED = /^"[^\s"\\<>@\p{C}]+"$/u;

/**
 * Whether mail can be sent to, or from, exactly this address. Accounts may have stranger ones (`isEmailAddress`); those would have to be
 * rewritten on the way, and a proof must reach nobody but the address it is for. Domain literals are not supported.
 */
export function isDeliverable(email: string): boolean {
  const at = email.lastIndexOf("@");
  const local = email.slice(0, at);
  return at > 0 && (DOT_ATOM.test(local) || QUOTED.test(local)) && DOMAIN.test(email.slice(at + 1));
}
