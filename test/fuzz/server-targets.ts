import { once } from "node:events";
import { connect } from "node:net";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { FuzzTarget } from "./search.ts";

/** Longest head of a request that Node.js accepts, less the lines that every request here has. */
const HEAD_BYTES = 15 * 1024;
/** A request takes about a millisecond: small inputs say nothing. */
const MIN_BYTES = 1024;

const NAMES = [
  "cookie",
  "x-forwarded-for",
  "accept-encoding",
  "if-none-match",
  "prefer",
  "authorization",
  "origin",
  "accept",
  "range",
  "host",
];
const TEXTS = [
  "\r\n",
  ";",
  ",",
  "=",
  ":",
  "/",
  "?",
  "&",
  "#",
  ".",
  "..",
  "%",
  "%41",
  "%2F",
  "%00",
  "%E2%82%AC",
  "%ff",
  '"',
  "*",
  "\t",
  " ",
  "\x80",
  "a§=b;",
  "vaultsync_session=",
  "1.2.3.4,",
  "::1,",
  "gzip;q=0.1,",
  'W/"1-a",',
  "wait=0,",
  "a§",
  "[",
  "]",
  "@",
];

async function send(url: string, text: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined).on("data", () => undefined);
  socket.end(Buffer.from(text, "latin1"));
  await once(socket, "close");
}

/**
 * Targets of a whole server in this process: the head of an authenticated request, and its path.
 */
export class ServerTargets implements AsyncDisposable {
  readonly #vault: TestVault;
  readonly #client: VaultClient;

  private constructor(vault: TestVault, client: VaultClient) {
    this.#vault = vault;
    this.#client = client;
  }

  static async start(): Promise<ServerTargets> {
    const unlimited = {
      requestsPerSecond: 1e9,
      requestBurst: 1e9,
      unauthenticatedFailuresPerSecond: 1e9,
      unauthenticatedBurst: 1e9,
    };
    const vault = await TestVault.start({
      data: ":memory:",
      limits: unlimited,
      trustedProxies: ["127.0.0.1"],
    });
    return new ServerTargets(vault, await vault.client("ann@example.com", scopeString(), 1000));
  }

  get list(): FuzzTarget[] {
    const { email, token } = this.#client;
    const body = JSON.stringify({ email });
    const end = `content-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const target = (name: string, requestOf: (input: string) => string): FuzzTarget => ({
      name,
      minBytes: MIN_BYTES,
      maxBytes: HEAD_BYTES,
      fragments: [...TEXTS, ...NAMES.map((header) => `\r\n${header}: `)],
      shapes: NAMES.flatMap((header) =>
        TEXTS.slice(-11).map((text) => [
          { text: `${header}: `, pumped: false },
          { text, pumped: true },
        ]),
      ),
      parse: (input) => send(this.#vault.url, requestOf(input.toString("latin1"))),
    });
    return [
      target("request head", (input) => {
        return `POST ${operationPath.list_no_dup} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${token}\r\n${input}\r\n${end}`;
      }),
      target("request path", (input) => `GET /${input} HTTP/1.1\r\nhost: localhost\r\n${end}`),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#vault[Symbol.asyncDispose]();
  }
}
