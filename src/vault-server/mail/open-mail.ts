import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../lib/logger.ts";
import type { Redacted } from "../../lib/redacted.ts";
import { isDeliverable, type EmailTransport } from "./email-transport.ts";
import { isPostgresUrl } from "../store/postgres/postgres-location.ts";
import { fileTransport } from "./file-transport.ts";
import { smtpTransport } from "./smtp-transport.ts";
import type { SmtpServer } from "./smtp-url.ts";
import { codeOf } from "../../lib/error-code.ts";

/** How letters leave: through `smtp`, else as `.eml` files in `directory`. */
export interface MailOptions {
  readonly smtp?: Redacted<SmtpServer>;
  /** Certificates in PEM that vouch for the SMTP server, instead of those Node knows. */
  readonly smtpCa?: string;
  /** Beside the data file when it is left out, or where there is none in the system's directory for temporary files. */
  readonly directory?: string;
  /** The sender's address; `vaultsync@` the application's host when it is left out. */
  readonly from?: string;
}

export interface OpenedMail extends AsyncDisposable {
  readonly transport: EmailTransport;
  /** Where the `.eml` files are, when letters leave as files. */
  readonly directory: string | undefined;
}

/** A server that lives in memory takes its letters along when it goes: their links lead nowhere then. */
async function openDirectory({ directory }: MailOptions, data: string): Promise<OpenedMail> {
  const throwaway = directory === undefined && data === ":memory:";
  const temporary = throwaway || isPostgresUrl(data);
  const path = directory ?? (temporary ? await mkdtemp(join(tmpdir(), "vaultsync-mail-")) : `${data}-mail`);
  return {
    transport: await fileTransport(path),
    directory: path,
    async [Symbol.asyncDispose]() {
      if (throwaway) await rm(path, { recursive: true, force: true });
    },
  };
}

/**
 * Makes what letters leave through. An SMTP server that does not answer is a warning in the log: it may be back by the time of the first
 * letter.
 * @param data the data file, `":memory:"`, or the URL of a database
 * @throws Error when the directory cannot be made, or `from` is no address
 */
export async function openMail(options: MailOptions, data: string, logger: Logger): Promise<OpenedMail> {
  if (options.from !== undefined && !isDeliverable(options.from)) throw new Error("invalid sender address of emails");
  if (!options.smtp) return openDirectory(options, data);
  const transport = smtpTransport(options.smtp, options.smtpCa);
  transport.verify().catch((error: unknown) => {
    const code = codeOf(error) ?? "unknown";
    logger.warn({ code }, "the SMTP server cannot be used as things stand; letters wait in the outbox");
  });
  return { transport, directory: undefined, [Symbol.asyncDispose]: async () => undefined };
}
