import { readFile } from "node:fs/promises";
import { Option, type Command } from "commander";
import { Redacted } from "../../lib/redacted.ts";
import type { MailOptions } from "../server/mail/open-mail.ts";
import { parseSmtpUrl, type SmtpServer } from "../server/mail/smtp-url.ts";

/**
 * Email flags as commander collects them. The SMTP URL contains a password, so it comes from a file
 * or the environment.
 */
export interface MailFlags {
  readonly smtpUrlFile?: string;
  readonly smtpCaFile?: string;
  readonly mailDir?: string;
  readonly mailFrom?: string;
}

export function addMailOptions(command: Command): void {
  const options = [
    new Option(
      "--smtp-url-file <file>",
      "file with the URL of the SMTP server, smtp://user:password@host:port (or VAULTSYNC_VAULT_SMTP_URL)",
    ).env("VAULTSYNC_VAULT_SMTP_URL_FILE"),
    new Option(
      "--smtp-ca-file <file>",
      "PEM file with the CA certificates of the SMTP server (default: those of Node.js)",
    ).env("VAULTSYNC_VAULT_SMTP_CA_FILE"),
    new Option(
      "--mail-dir <directory>",
      "directory for emails as .eml files when there is no SMTP server (default: <data>-mail)",
    ).env("VAULTSYNC_VAULT_MAIL_DIR"),
    new Option(
      "--mail-from <address>",
      "sender of emails (default: vaultsync@ and the host of --app-url)",
    ).env("VAULTSYNC_VAULT_MAIL_FROM"),
  ];
  for (const option of options) command.addOption(option);
}

async function smtpServer({ smtpUrlFile }: MailFlags): Promise<Redacted<SmtpServer> | undefined> {
  const text =
    smtpUrlFile === undefined
      ? process.env.VAULTSYNC_VAULT_SMTP_URL
      : await readFile(smtpUrlFile, "utf8");
  return text === undefined || text === "" ? undefined : new Redacted(parseSmtpUrl(text));
}

/** Returns the email options. @throws Error with a remedy; it quotes no part of the SMTP URL */
export async function mailOptions(flags: MailFlags): Promise<MailOptions> {
  const { smtpCaFile, mailDir, mailFrom } = flags;
  const smtp = await smtpServer(flags);
  if (smtp && mailDir !== undefined)
    throw new Error("conflicting email options: specify an SMTP URL or --mail-dir, not both");
  if (!smtp && smtpCaFile !== undefined)
    throw new Error("--smtp-ca-file requires an SMTP URL: add --smtp-url-file");
  return {
    ...(smtp && { smtp }),
    ...(smtpCaFile !== undefined && { smtpCa: await readFile(smtpCaFile, "utf8") }),
    ...(mailDir !== undefined && { directory: mailDir }),
    ...(mailFrom !== undefined && { from: mailFrom }),
  };
}
