import type { SendMailOptions } from "nodemailer";
import type { MailMessage } from "./email-message.ts";

/** A message as nodemailer takes it: addresses as objects, so that none is parsed, and nothing read from files or URLs. */
export function sendOptions({ from, to, subject, text, html, messageId, date }: MailMessage): SendMailOptions {
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
