import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { certificate } from "../certificates.ts";
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
class ReceivedMail {
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

export interface Delivery {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
  readonly secure: boolean;
  readonly mail: ReceivedMail;
}

/** Returns a rejection with an SMTP status. */
export function refusal(status: number): Error {
  return Object.assign(new Error("no"), { responseCode: status });
}

export interface SmtpBehaviour {
  /** Requires STARTTLS and this login. */
  readonly login?: { readonly user: string; readonly password: string };
  /** Uses TLS from the first byte. */
  readonly secure?: boolean;
  /** Throws to reject the recipient. */
  readonly recipient?: (address: string) => Promise<void> | void;
  /** Runs before the message is accepted; throws to reject it. */
  readonly data?: (mail: ReceivedMail) => Promise<void> | void;
}

function settled(work: () => void | Promise<void>, callback: (error?: Error | null) => void): void {
  void (async () => work())().then(() => callback(), callback);
}

/** A real SMTP server on a loopback port that can go away and come back. */
export class TestSmtpServer implements AsyncDisposable {
  readonly deliveries: Delivery[] = [];
  /** Number of connections. */
  connections = 0;
  /** Number of logins. */
  logIns = 0;
  /** CA certificate of the server, PEM. */
  readonly ca: string;
  behaviour: SmtpBehaviour;
  port = 0;
  readonly #tls: { readonly cert: string; readonly key: string };
  #server: SMTPServer | undefined;

  private constructor(behaviour: SmtpBehaviour) {
    this.behaviour = behaviour;
    const authority = certificate("mail authority");
    const { cert, keyPem } = certificate("127.0.0.1", { issuer: authority, hosts: ["127.0.0.1"] });
    this.ca = authority.cert;
    this.#tls = { cert, key: keyPem };
  }

  static async start(behaviour: SmtpBehaviour = {}): Promise<TestSmtpServer> {
    const server = new TestSmtpServer(behaviour);
    await server.comeBack();
    return server;
  }

  #options(): SMTPServerOptions {
    const { login, secure = false } = this.behaviour;
    return {
      ...this.#tls,
      secure,
      ...(!login && { authOptional: true }),
      ...(!login && !secure && { disabledCommands: ["STARTTLS"] }),
      disableReverseLookup: true,
      closeTimeout: 1,
      onConnect: (_session, callback) => {
        this.connections += 1;
        callback();
      },
      onAuth: ({ username, password }, _session, callback) => {
        this.logIns += 1;
        const right =
          username === this.behaviour.login?.user && password === this.behaviour.login?.password;
        callback(right ? null : refusal(535), right ? { user: username } : undefined);
      },
      onRcptTo: ({ address }, _session, callback) =>
        settled(() => this.behaviour.recipient?.(address), callback),
      onData: (stream, { envelope, user, secure: encrypted }, callback) =>
        settled(async () => {
          const mail = new ReceivedMail((await buffer(stream)).toString("utf8"));
          await this.behaviour.data?.(mail);
          const from = envelope.mailFrom ? envelope.mailFrom.address : "";
          this.deliveries.push({
            from,
            to: envelope.rcptTo.map(({ address }) => address),
            user,
            secure: encrypted,
            mail,
          });
        }, callback),
    };
  }

  async goAway(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server) await new Promise<void>((resolve) => server.close(resolve));
  }

  /** On the port it had. */
  async comeBack(): Promise<void> {
    const server = new SMTPServer(this.#options());
    server.on("error", () => undefined);
    server.listen(this.port, "127.0.0.1");
    await once(server.server, "listening");
    this.port = (server.server.address() as AddressInfo).port;
    this.#server = server;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.goAway();
  }
}
