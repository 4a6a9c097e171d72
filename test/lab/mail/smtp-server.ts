import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { certificate } from "../certificates.ts";
import { ReceivedMail } from "./mailbox.ts";

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
