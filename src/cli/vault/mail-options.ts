import { readFile } from "node:fs/promises";
import { Option, type Command } from "commander";
import { Redacted } from "../../lib/redacted.ts";
import type { MailOptions } from "../../vault-server/mail/open-mail.ts";
import { parseSmtpUrl, type SmtpServer } from "../../vault-server/mail/smtp-url.ts";

/** The flags about mail, as commander collects them. The SMTP URL holds a password: it comes from a file or the environment. */
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
      "smtp://user:password@host:port that letters leave through (or VAULTSYNC_VAULT_SMTP_URL)",
    ).env("VAULTSYNC_VAULT_SMTP_URL_FILE"),
    new Option("--smtp-ca-file <file>", "certificates, PEM, that vouch for the SMTP server instead of those Node knows").env(
      "VAULTSYNC_VAULT_SMTP_CA_FILE",
    ),
    new Option(
      "--mail-dir <directory>",
      "without SMTP: where letters are written as .eml files; beside the data file by default",
    ).env("VAULTSYNC_VAULT_MAIL_DIR"),
    new Option("--mail-from <address>", "the sender of letters; vaultsync@ the application's host by default").env(
      "VAULTSYNC_VAULT_MAIL_FROM",
    ),
  ];
  for (const option of options) command.addOption(option);
}

async function smtpServer({ smtpUrlFile }: MailFlags): Promise<Redacted<SmtpServer> | undefined> {
  const text = smtpUrlFile === undefined ? process.env.VAULTSYNC_VAULT_SMTP_URL : await readFile(smtpUrlFile, "utf8");
  return text === undefined || text === "" ? undefined : new Redacted(parseSmtpUrl(text));
}

/** @throws Error that says what to do; it quotes no part of the SMTP URL */
export async function givenMail(flags: MailFlags): Promise<MailOptions> {
  const { smtpCaFile, mailDir, mailFrom } = flags;
  const smtp = await smtpServer(flags);
  if (smtp && mailDir !== undefined)
    throw new Error("letters leave through SMTP or as files: give an SMTP URL or --mail-dir, not both");
  if (!smtp && smtpCaFile !== undefined) throw new Error("--smtp-ca-file is about an SMTP server: give its URL too");
  return {
    ...(smtp && { smtp }),
    ...(smtpCaFile !== undefined && { smtpCa: await readFile(smtpCaFile, "utf8") }),
    ...(mailDir !== undefined && { directory: mailDir }),
    ...(mailFrom !== undefined && { from: mailFrom }),
  };
}
