import { createSecureContext, type SecureContext } from "node:tls";
import { type Dispatcher, errors, Pool, ProxyAgent } from "undici";
import type { Clock } from "../../../lib/clock.ts";
import { Deadline } from "../../lib/deadline.ts";
import { pemCertificates } from "../../lib/pem-certificates.ts";
import { codeOf } from "../../../lib/errors.ts";
import { packageVersion } from "../../../lib/package-version.ts";
import { CONSUMER_HEADER } from "../../../protocol/headers.ts";
import { operationPath, type Operation } from "../../../protocol/operation-paths.ts";
import {
  isVaultError,
  RefusedError,
  tooLong,
  TransientError,
  UnexpectedResponse,
  type VaultError,
} from "../vault-error.ts";
import { receive, type ResponseHead } from "./read-body.ts";
import {
  AddressRefusedError,
  hostOf,
  type HostPolicy,
  matchesHost,
  policyLookup,
  refusalOf,
} from "./host-policy.ts";
import {
  PROXY_PREFIX,
  type VaultRequest,
  type VaultResponse,
  type VaultTransport,
  type FileUpload,
} from "./vault-transport.ts";
import { randomBytes } from "node:crypto";

/** The content of a request and the headers that describe it. */
interface RequestContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

const jsonContent = (body: object): RequestContent => ({
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Returns the parameters that name a file. Other characters than plain ones are also sent as RFC
 * 5987 defines.
 */
function filenameParameters(filename: string): string {
  const quoted = `filename="${filename.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  if (PLAIN.test(filename)) return quoted;
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `${quoted}; filename*=UTF-8''${encoded}`;
}

/**
 * Returns a `multipart/form-data` content with one file. The members of `parameters` become
 * headers.
 */
function uploadContent({ filename, bytes }: FileUpload, parameters: object): RequestContent {
  // A delimiter that occurs in the file by chance is less likely than a collision of two digests.
  const boundary = randomBytes(24).toString("hex");
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; ${filenameParameters(filename)}\r\ncontent-type: application/octet-stream\r\n\r\n`;
  const headers = Object.entries(parameters).map(([name, value]) => [
    name.toLowerCase(),
    String(value),
  ]);
  return {
    headers: {
      ...Object.fromEntries(headers),
      "content-type": `multipart/form-data; boundary=${boundary}`,
    },
    body: Buffer.concat([
      Buffer.from(head),
      bytes.reveal(),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}

const CONNECTIONS = 8;
const CONNECT_TIMEOUT_MS = 3_000;
/** Longer than the default interval between two lists: a list needs no new TLS handshake. */
const KEEP_ALIVE_MS = 65_000;
/**
 * The body of an error is read for its code only; a longer body is not an error body of the
 * contract.
 */
const MAX_ERROR_BYTES = 64 * 1024;

/** An HTTP proxy, and the hosts that are reached without it. */
interface VaultProxy {
  readonly url: string;
  readonly except: readonly string[];
}

export interface UndiciTransportOptions {
  /** Base address, without `/v1`. */
  readonly url: string;
  readonly policy: HostPolicy;
  readonly clock: Clock;
  /** PEM bundle trusted instead of the public authorities. */
  readonly ca: string | undefined;
  readonly proxy?: VaultProxy | undefined;
}

/**
 * Sends requests over HTTP from a separate pool, through a tunnel if a proxy is given: the proxy
 * sees the host and no request. Never follows a redirect, requests compression or retries, and
 * ignores proxies in the environment.
 */
export class UndiciTransport implements VaultTransport {
  readonly #options: UndiciTransportOptions;
  readonly #origin: string;
  /** The path of the base address. */
  readonly #base: string;
  #pool: Dispatcher | NoPool;

  constructor(options: UndiciTransportOptions) {
    const url = URL.parse(options.url);
    this.#options = options;
    this.#origin = url?.origin ?? "";
    this.#base = (url?.pathname ?? "").replace(/\/$/, "");
    this.#pool = open(options, options.ca);
  }

  updateCa(ca: string | undefined): void {
    const old = this.#pool;
    this.#pool = open(this.#options, ca);
    // A failure in the old pool is reported by the request that uses it.
    if (!("refused" in old)) old.close().catch(() => undefined);
  }

  async request(request: VaultRequest): Promise<VaultResponse> {
    const { operation, signal } = request;
    signal.throwIfAborted();
    if ("refused" in this.#pool) throw new RefusedError(operation, this.#pool.refused);
    using deadline = new Deadline(this.#options.clock, request.deadlineMs, signal);
    try {
      const { clock } = this.#options;
      const to = { origin: this.#origin, base: this.#base, clock };
      return await post(this.#pool, to, request, deadline.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isVaultError(error)) throw error;
      if (deadline.expired) throw new TransientError(operation, "timeout");
      throw networkError(operation, error, this.#pool instanceof ProxyAgent);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!("refused" in this.#pool)) await this.#pool.destroy();
  }
}

interface NoPool {
  readonly refused: RefusedError["code"];
}

function open(
  { url: address, policy, proxy }: UndiciTransportOptions,
  ca: string | undefined,
): Dispatcher | NoPool {
  const url = URL.parse(address);
  const refused = url ? refusalOf(url, policy) : "url";
  if (!url || refused) return { refused: refused ?? "url" };
  const limits = {
    connections: CONNECTIONS,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The deadline of the whole request replaces these.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  try {
    const tls = {
      timeout: CONNECT_TIMEOUT_MS,
      ...(url.protocol === "https:" && { secureContext: trust(ca) }),
      // A resumed TLS session is not verified again, not even for the expiry of the certificate.
      maxCachedSessions: 0,
      // Explicit: no environment variable can turn it off.
      rejectUnauthorized: true,
    };
    if (proxy === undefined || matchesHost(hostOf(url), proxy.except))
      return new Pool(url.origin, { ...limits, connect: { ...tls, lookup: policyLookup(policy) } });
    return new ProxyAgent({
      ...limits,
      uri: proxy.url,
      proxyTunnel: true,
      connectTimeout: CONNECT_TIMEOUT_MS,
      proxyTls: { rejectUnauthorized: true },
      requestTls: tls,
    });
  } catch {
    return { refused: "ca" };
  }
}

/**
 * Trusts the public authorities. Shared by all connections, because it takes 40 KB; created when
 * the first one needs it.
 */
let publicTrust: SecureContext | undefined;

/**
 * Returns a context for TLS 1.2 or later that trusts the PEM bundle *instead of* the public
 * authorities, or these without a bundle.
 * @throws Error when the bundle has no certificate or an unreadable one (`createSecureContext`
 * would silently trust nothing)
 */
function trust(ca: string | undefined): SecureContext {
  if (ca === undefined) return (publicTrust ??= createSecureContext({ minVersion: "TLSv1.2" }));
  const certificates = pemCertificates(ca);
  if (certificates.length === 0) throw new Error("the CA bundle contains no certificate");
  return createSecureContext({ minVersion: "TLSv1.2", ca: [...certificates] });
}

const USER_AGENT = `vaultsync/${packageVersion()}`;

function requestHeaders(request: VaultRequest): Record<string, string> {
  const { operation, token, ifNoneMatch, waitSeconds, consumer } = request;
  return {
    accept:
      operation === "download_file"
        ? "application/octet-stream, application/json"
        : "application/json",
    "accept-encoding": "identity",
    "user-agent": USER_AGENT,
    ...(token && { authorization: token.reveal() }),
    ...(ifNoneMatch && { "if-none-match": ifNoneMatch }),
    ...(consumer !== undefined && { [CONSUMER_HEADER]: consumer }),
    ...(waitSeconds && { prefer: `wait=${waitSeconds}` }),
  };
}

async function post(
  pool: Dispatcher,
  {
    origin,
    base,
    clock,
  }: { readonly origin: string; readonly base: string; readonly clock: Clock },
  request: VaultRequest,
  signal: AbortSignal,
): Promise<VaultResponse> {
  const { operation, maxBytes, memory, upload } = request;
  const { headers, body: content } = upload
    ? uploadContent(upload, request.body)
    : jsonContent(request.body);
  const limitsOf = (head: ResponseHead) => {
    if (!isSuccess(head)) return { maxBytes: MAX_ERROR_BYTES };
    if (isEncoded(head)) throw new UnexpectedResponse(operation, "content-encoding");
    return { maxBytes, memory };
  };
  const response = await receive(
    pool,
    {
      method: "POST",
      origin,
      path: base + operationPath[operation],
      headers: { ...headers, ...requestHeaders(request) },
      body: content,
    },
    { limitsOf, clock, signal },
  );
  const { body } = response;
  if (isSuccess(response) && body === undefined) throw tooLong(operation, maxBytes);
  return {
    status: response.statusCode,
    body: body ?? new Uint8Array(),
    header: (name) => joined(response.headers[name]),
  };
}

const isSuccess = ({ statusCode }: ResponseHead): boolean => statusCode < 300;

function isEncoded({ headers }: ResponseHead): boolean {
  const encoding = joined(headers["content-encoding"]);
  return encoding !== undefined && encoding !== "" && encoding.toLowerCase() !== "identity";
}

function joined(value: string | string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value;
}

const SYSTEM_CODE = /^[A-Z0-9_]{1,64}$/;
const TLS_CODE =
  /CERT|^UNABLE_TO_|^ERR_TLS|^ERR_SSL|^ERR_OSSL|^EPROTO$|^HOSTNAME_MISMATCH$|^CRL_|_CRL|^PATH_LENGTH_|^INVALID_(CA|PURPOSE)$/;
const RESET_CODES = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNABORTED",
  "UND_ERR_SOCKET",
  "UND_ERR_RES_CONTENT_LENGTH_MISMATCH",
]);

/**
 * Maps a failure of the network, of name resolution or of TLS. An unverified peer is refused, not
 * transient. With a proxy, whatever prevents a connection is a failure of the proxy.
 */
function networkError(operation: Operation, error: unknown, isProxied: boolean): VaultError {
  const refused = refusedAddress(error);
  if (refused !== undefined) return new RefusedError(operation, "address", refused);
  const detail = systemCode(error);
  if (detail !== undefined && TLS_CODE.test(detail))
    return new RefusedError(operation, "tls", detail);
  // A peer that does not speak HTTP broke the connection too.
  const reset =
    error instanceof errors.HTTPParserError || (detail !== undefined && RESET_CODES.has(detail));
  if (reset) return new TransientError(operation, "reset", { detail });
  const why = isProxied ? `${PROXY_PREFIX}${tunnelStatus(error) ?? detail ?? "FAILED"}` : detail;
  return new TransientError(operation, "unreachable", { detail: why });
}

/** Returns the address that the host policy refused to connect to. */
function refusedAddress(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof AddressRefusedError) return at.address;
  return undefined;
}

/** Returns the status of a proxy that opens no tunnel. undici has it in a message only. */
function tunnelStatus(error: unknown): string | undefined {
  const text = error instanceof errors.RequestAbortedError ? error.message : "";
  return /^Proxy response \((\d{3})\)/u.exec(text)?.[1];
}

/**
 * Returns the first system code on the error or its causes. No other part of a network error is
 * passed on.
 */
function systemCode(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = codeOf(at);
    if (code !== undefined && SYSTEM_CODE.test(code)) return code;
  }
  return undefined;
}
