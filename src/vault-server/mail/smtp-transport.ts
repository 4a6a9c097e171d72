import { createTransport, type NodemailerError, type SMTPPoolOptions } from "nodemailer";
import type { Redacted } from "../../lib/redacted.ts";
import { EmailRejectedError, type EmailTransport, sendOptions } from "./email-transport.ts";
import type { SmtpServer } from "./smtp-url.ts";

/** The server wants a log-in or TLS: about this process, not about the message. */
const ABOUT_US = [530, 534, 535, 538];

function isNodemailerError(error: unknown): error is NodemailerError {
  return error instanceof Error;
}

/** Whether this very message to this very person would be refused again: a bad sender or log-in can be mended meanwhile. */
function isRefusal({ permanent, responseCode = 0, command, code }: NodemailerError): boolean {
  if (permanent !== true || ABOUT_US.includes(responseCode)) return false;
  return command === "RCPT TO" || (code === "EMESSAGE" && command === "DATA");
}

function tlsOptions(tls: SmtpServer["tls"]): SMTPPoolOptions {
  switch (tls) {
    case "implicit":
      return { secure: true };
    case "required":
      return { secure: false, requireTLS: true };
    case "offered":
      return { secure: false };
    case "none":
      return { secure: false, ignoreTLS: true };
  }
}

/** An SMTP server as a transport that also can be asked whether it is there. */
export interface SmtpTransport extends EmailTransport {
  /** Connects, and logs in. @throws Error when that fails */
  verify(): Promise<void>;
}

/** @param ca certificates in PEM that vouch for the server, instead of those Node knows */
export function smtpTransport(server: Redacted<SmtpServer>, ca: string | undefined): SmtpTransport {
  const { host, port, tls, user, password } = server.reveal();
  const pool = createTransport({
    pool: true,
    maxConnections: 4,
    maxRequeues: 1,
    host,
    port,
    ...tlsOptions(tls),
    ...(user !== undefined && password !== undefined && { auth: { user, pass: password }, forceAuth: true }),
    tls: { minVersion: "TLSv1.2", ...(ca !== undefined && { ca }) },
    connectionTimeout: 20_000,
    greetingTimeout: 20_000,
    socketTimeout: 60_000,
    dnsTimeout: 10_000,
  });
  return {
    async send(message, signal) {
      try {
        await pool.sendMail({ ...sendOptions(message), signal });
      } catch (error) {
        if (!isNodemailerError(error) || !isRefusal(error)) throw error;
        throw new EmailRejectedError(String(error.responseCode), { cause: error });
      }
    },
    async verify() {
      await pool.verify();
    },
    async [Symbol.asyncDispose]() {
      pool.close({ force: true });
    },
  };
}
