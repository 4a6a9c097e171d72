import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { waitUntil } from "../clock/wait-until.ts";

function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\r?\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}

function decodePart(part: string): string {
  const [head = "", ...body] = part.split("\r\n\r\n");
  const text = body.join("\r\n\r\n");
  if (/^content-transfer-encoding: quoted-printable/im.test(head))
    return decodeQuotedPrintable(text);
  if (/^content-transfer-encoding: base64/im.test(head))
    return Buffer.from(text, "base64").toString("utf8");
  return text;
}

/**
 * A received message: its header fields by lower-case name, unfolded, and its two parts decoded.
 */
export class ReceivedMail {
  readonly raw: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;

  constructor(raw: string) {
    this.raw = raw;
    const [head = ""] = raw.split("\r\n\r\n", 1);
    const lines = head.replace(/\r\n[ \t]+/g, " ").split("\r\n");
    this.headers = new Map(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 2),
      ]),
    );
    const boundary = /boundary="([^"]+)"/.exec(this.headers.get("content-type") ?? "")?.[1] ?? "";
    const parts = raw.split(`\r\n--${boundary}`).slice(1, -1);
    const partOf = (type: string): string =>
      decodePart(parts.find((part) => part.includes(`Content-Type: ${type}`)) ?? "");
    this.text = partOf("text/plain");
    this.html = partOf("text/html");
  }

  get to(): string {
    return this.headers.get("to") ?? "";
  }

  get subject(): string {
    return this.headers.get("subject") ?? "";
  }

  /** Link in the email. */
  get link(): string {
    return /^https?:\S+$/m.exec(this.text)?.[0] ?? "";
  }

  /** The proof in the link; empty when there is none. */
  get token(): string {
    return /token=(\S+)$/.exec(this.link)?.[1] ?? "";
  }
}

/** The messages in a directory of `.eml` files, the oldest first. */
export async function receivedMail(directory: string | undefined): Promise<ReceivedMail[]> {
  if (directory === undefined) throw new Error("emails are not written as files here");
  const names = (await readdir(directory)).filter((name) => name.endsWith(".eml")).toSorted();
  return Promise.all(
    names.map(async (name) => new ReceivedMail(await readFile(join(directory, name), "utf8"))),
  );
}

const CHANGED = "Your password was changed";

/**
 * The latest message to this address, by default one that does not just report a new password;
 * waits for it.
 */
export function mailTo(
  directory: string | undefined,
  email: string,
  subject?: typeof CHANGED,
): Promise<ReceivedMail> {
  return waitUntil(`mail to ${email}`, async () =>
    (await receivedMail(directory)).findLast(
      (mail) => mail.to === email && (mail.subject === CHANGED) === (subject === CHANGED),
    ),
  );
}
