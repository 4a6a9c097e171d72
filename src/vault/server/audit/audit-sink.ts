import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { hostname } from "node:os";
import type { ForwardTarget } from "./forward-target.ts";

/** Sends lines to a target. Disposing it closes the connection. */
export interface AuditSink extends Disposable {
  /**
   * Sends lines in order, after connecting if there is no connection. Resolves with the number of
   * lines that are too long for the transport, once the operating system has the rest.
   * @throws Error on failure; some lines may have been sent
   */
  send(lines: readonly string[]): Promise<number>;
  [Symbol.dispose](): void;
}

/** Time without progress after which a connection is given up, in milliseconds. */
const IDLE_MS = 30_000;
/** Maximum payload of a UDP datagram over IPv4. */
const DATAGRAM_BYTES = 65_507;

type Address = Extract<ForwardTarget, { readonly host: string }>;

function written(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Syslog over TCP or TLS, where each message starts with its length (RFC 6587, octet counting). */
class StreamSink implements AuditSink {
  readonly #address: Address;
  #socket: Socket | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  async #connect(): Promise<Socket> {
    const { kind, host, port } = this.#address;
    const to = { host, port, keepAlive: true };
    const socket = kind === "tls" ? connectTls({ ...to, minVersion: "TLSv1.2" }) : connectTcp(to);
    this.#socket = socket;
    // The promises of `once` and `written` report failures; without a listener, a later one would
    // end the process.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      if (this.#socket === socket) this.#socket = undefined;
    });
    socket.setTimeout(IDLE_MS, () => socket.destroy(new Error("timeout")));
    await once(socket, kind === "tls" ? "secureConnect" : "connect");
    // A syslog server sends nothing; reading notices that it has closed the connection.
    socket.resume();
    return socket;
  }

  async send(lines: readonly string[]): Promise<number> {
    const socket = this.#socket ?? (await this.#connect());
    socket.setTimeout(IDLE_MS);
    const messages = lines.map(syslogMessage);
    await written(
      socket,
      messages.map((message) => `${Buffer.byteLength(message)} ${message}`).join(""),
    );
    socket.setTimeout(0);
    return 0;
  }

  [Symbol.dispose](): void {
    this.#socket?.destroy(new Error("stopped"));
  }
}

/** Syslog over UDP (RFC 5426): one datagram for each line; a datagram may be lost on the way. */
class DatagramSink implements AuditSink {
  readonly #address: Address;
  #socket: UdpSocket | undefined;

  constructor(address: Address) {
    this.#address = address;
  }

  async #connect(): Promise<UdpSocket> {
    const { host, port } = this.#address;
    const socket = createSocket({ type: host.includes(":") ? "udp6" : "udp4" });
    socket.on("error", () => this.#close(socket));
    socket.unref();
    socket.connect(port, host);
    await once(socket, "connect");
    this.#socket = socket;
    return socket;
  }

  #close(socket: UdpSocket): void {
    if (this.#socket === socket) this.#socket = undefined;
    try {
      socket.close();
    } catch {
      // It is closed already.
    }
  }

  async send(lines: readonly string[]): Promise<number> {
    const socket = this.#socket ?? (await this.#connect());
    const messages = lines.map((line) => Buffer.from(syslogMessage(line)));
    const sendable = messages.filter(({ length }) => length <= DATAGRAM_BYTES);
    try {
      for (const message of sendable) {
        await new Promise<void>((resolve, reject) => {
          socket.send(message, (error) => (error ? reject(error) : resolve()));
        });
      }
    } catch (error) {
      this.#close(socket);
      throw error;
    }
    return messages.length - sendable.length;
  }

  [Symbol.dispose](): void {
    if (this.#socket) this.#close(this.#socket);
  }
}

/** Standard output, one line each; a reader that does not read delays lines only. */
class StdoutSink implements AuditSink {
  constructor() {
    // A closed pipe must not end the server: `send` fails then.
    process.stdout.on("error", this.#ignore);
  }

  readonly #ignore = (): void => undefined;

  async send(lines: readonly string[]): Promise<number> {
    await written(process.stdout, lines.map((line) => `${line}\n`).join(""));
    return 0;
  }

  [Symbol.dispose](): void {
    process.stdout.off("error", this.#ignore);
  }
}

/** Returns a sink that connects when it first sends. */
export function createAuditSink(target: ForwardTarget): AuditSink {
  switch (target.kind) {
    case "stdout":
      return new StdoutSink();
    case "udp":
      return new DatagramSink(target);
    case "tls":
    case "tcp":
      return new StreamSink(target);
  }
}

/** Facility 13 (log audit), severity 6 (informational): 13 × 8 + 6. */
const PRIORITY = 110;

/** Characters that a field of the header may have (RFC 5424, section 6). */
function printable(text: string, most: number): string {
  return text.replace(/[^\x21-\x7e]/gu, "").slice(0, most) || "-";
}

const HOST = printable(hostname(), 255);

/**
 * Returns a line of the audit log as a syslog message (RFC 5424), with the time of the line. The
 * line itself is unchanged.
 */
function syslogMessage(line: string): string {
  const [, time = "-"] = /^\{"seq":[0-9]+,"log":"[^"]*","time":"([^"]*)"/u.exec(line) ?? [];
  return `<${PRIORITY}>1 ${time} ${HOST} vaultsync-vault ${process.pid} audit - ${line}`;
}
