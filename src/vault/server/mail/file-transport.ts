import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import { type ComposedEmail, type EmailTransport, sendOptions } from "./email-transport.ts";

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
