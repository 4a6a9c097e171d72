import { createTransport, type NodemailerError, type SMTPPoolOptions } from "nodemailer";
import type { Redacted } from "../../../lib/redacted.ts";
import { EmailRejectedError, type EmailTransport, sendOptions } from "./email-transport.ts";
import type { SmtpServer } from "./smtp-url.ts";

/** SMTP reply codes about login or TLS: they concern this process, not the message. */
const LOGIN_REPLIES = [530, 534, 535, 538];

function isNodemailerError(error: unknown): error is NodemailerError {
  return error instanceof Error;
}

/**
 * Reports whether the server would reject the same message to the same recipient again. A bad
 * sender or login can be fixed.
 */
function isPermanentRejection({
  permanent,
  responseCode = 0,
  command,
  code,
}: NodemailerError): boolean {
  if (permanent !== true || LOGIN_REPLIES.includes(responseCode)) return false;
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

/** Sends emails through an SMTP server. */
export interface SmtpTransport extends EmailTransport {
  /** Connects and logs in. @throws Error on failure */
  verify(): Promise<void>;
}

/** @param ca CA certificates of the server, PEM; by default the certificates of Node.js */
export function smtpTransport(server: Redacted<SmtpServer>, ca: string | undefined): SmtpTransport {
  const { host, port, tls, user, password } = server.reveal();
  const pool = createTransport({
    pool: true,
    maxConnections: 4,
    maxRequeues: 1,
    host,
    port,
    ...tlsOptions(tls),
    ...(user !== undefined &&
      password !== undefined && { auth: { user, pass: password }, forceAuth: true }),
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
        if (!isNodemailerError(error) || !isPermanentRejection(error)) throw error;
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
