import { mkdtemp, rm, mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "../../../lib/logger.ts";
import type { Redacted } from "../../../lib/redacted.ts";
import {
  isDeliverable,
  type EmailTransport,
  type ComposedEmail,
  sendOptions,
} from "./email-transport.ts";
import { isPostgresUrl } from "../store/postgres/postgres-location.ts";
import { smtpTransport } from "./smtp-transport.ts";
import type { SmtpServer } from "./smtp-url.ts";
import { codeOf } from "../../../lib/errors.ts";
import { createTransport } from "nodemailer";

/** Returns a name that sorts by time and is valid on every file system. */
function fileName({ date, name }: ComposedEmail): string {
  return `${date.toISOString().replace(/[-:]/g, "")}-${name}.eml`;
}

const FILE_NAME =
  /^\.?([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9.]{6})Z-.*\.eml(?:\.part)?$/u;

/** Returns the time in a name of `fileName`, in milliseconds; undefined for another name. */
function timeOf(name: string): number | undefined {
  const [, year, month, day, hour, minute, second] = FILE_NAME.exec(name) ?? [];
  return year === undefined
    ? undefined
    : Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/**
 * Returns a transport that writes each message atomically to a separate file, readable by this user
 * only. Creates the directory.
 */
export async function fileTransport(directory: string): Promise<EmailTransport> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const composer = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  return {
    async send(message) {
      const { message: bytes } = await composer.sendMail(sendOptions(message));
      const name = fileName(message);
      const unfinished = join(directory, `.${name}.part`);
      await writeFile(unfinished, bytes, { mode: 0o600, flush: true });
      await rename(unfinished, join(directory, name));
    },
    async removeBefore(timestamp) {
      for (const name of await readdir(directory)) {
        if ((timeOf(name) ?? Infinity) < timestamp)
          await rm(join(directory, name), { force: true });
      }
    },
    async [Symbol.asyncDispose]() {
      composer.close();
    },
  };
}

/** Options for sending email: by `smtp`, or as `.eml` files in `directory`. */
export interface MailOptions {
  readonly smtp?: Redacted<SmtpServer>;
  /** CA certificates of the SMTP server, PEM; by default the certificates of Node.js. */
  readonly smtpCa?: string;
  /**
   * Defaults to a directory next to the data file; without a data file, to a temporary directory.
   */
  readonly directory?: string;
  /** Sender address; defaults to `vaultsync@` and the host of the web application. */
  readonly from?: string;
}

export interface OpenedMail extends AsyncDisposable {
  readonly transport: EmailTransport;
  /** Directory of the `.eml` files; `undefined` with SMTP. */
  readonly directory: string | undefined;
}

/**
 * Opens the directory. The directory of an in-memory server is deleted with the server, because the
 * links in its emails stop working.
 */
async function openDirectory({ directory }: MailOptions, data: string): Promise<OpenedMail> {
  const ephemeral = directory === undefined && data === ":memory:";
  const temporary = ephemeral || isPostgresUrl(data);
  const path =
    directory ?? (temporary ? await mkdtemp(join(tmpdir(), "vaultsync-mail-")) : `${data}-mail`);
  return {
    transport: await fileTransport(path),
    directory: path,
    async [Symbol.asyncDispose]() {
      if (ephemeral) await rm(path, { recursive: true, force: true });
    },
  };
}

/**
 * Opens the email transport. An unreachable SMTP server only logs a warning: it may be available
 * again when the first email is sent.
 * @param data the data file, `":memory:"`, or the URL of a database
 * @throws Error when the directory cannot be created, or `from` is not a valid address
 */
export async function openMail(
  options: MailOptions,
  data: string,
  logger: Logger,
): Promise<OpenedMail> {
  if (options.from !== undefined && !isDeliverable(options.from))
    throw new Error("invalid sender address of emails");
  if (!options.smtp) return openDirectory(options, data);
  const transport = smtpTransport(options.smtp, options.smtpCa);
  transport.verify().catch((error: unknown) => {
    const code = codeOf(error) ?? "unknown";
    logger.warn({ code }, "SMTP server unavailable; emails wait in the outbox");
  });
  return { transport, directory: undefined, [Symbol.asyncDispose]: async () => undefined };
}
