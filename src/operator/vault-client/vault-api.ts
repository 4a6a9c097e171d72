import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Redacted } from "../../lib/redacted.ts";
import type { Operation } from "../../protocol/operation-paths.ts";
import type { Consumer, EntryBytes, FileRecord, SecretRecord, WriteGuard } from "./connection.ts";
import type { CircuitBreaker } from "./http/circuit-breaker.ts";
import type { ListGate } from "./http/list-gate.ts";
import { parseJson } from "./http/parse-json.ts";
import type { RequestPace } from "./http/request-pace.ts";
import { responseError } from "./http/response-error.ts";
import { ResponseMemory } from "./http/response-memory.ts";
import type {
  BodyMemory,
  VaultRequest,
  VaultResponse,
  VaultTransport,
} from "./http/vault-transport.ts";
import type { RequestOutcome, VaultObserver } from "./observer.ts";
import { readCount } from "./readers/field.ts";
import { readValue, type ReadValue } from "./readers/read-value.ts";
import type { Token } from "./auth/token.ts";
import type { TokenManager } from "./auth/token-manager.ts";
import {
  AuthError,
  isVaultError,
  PermanentError,
  RateLimitedError,
  TransientError,
  UnexpectedResponse,
} from "./vault-error.ts";

const MIB = 1024 * 1024;
/** Longest response with a value, and all responses but lists that are read at a time. */
const MAX_VALUE_BYTES = 2 * MIB;
const MAX_VALUES_BYTES = 32 * MIB;
const MAX_FILE_BYTES = 64 * MIB;
/** Minimum rate of a download; its time at this rate extends the deadline. */
const SLOWEST_BYTES_PER_MS = MIB / 1000;
/** The vault honored the preference `wait` (RFC 7240). */
const WAIT_APPLIED = /(^|[,;\s])wait\b/i;
const ETAG = /^(W\/)?"[\x21\x23-\x7e]{0,256}"$/;

/** Requests that all connections send at a common pace. */
const PACED: ReadonlySet<Operation> = new Set([
  "list_no_dup",
  "list_file",
  "generate_access_token",
  "exchange_identity_token",
  "refresh_token",
]);

/** Returns the memory for the responses of all connections of a process, except for lists. */
export const valueMemory = (): ResponseMemory =>
  new ResponseMemory(MAX_VALUE_BYTES, MAX_VALUES_BYTES);

/** The operation and fields that read a value. */
export interface ExposeRoute {
  readonly family: "own" | "link";
  /** Requests an exact version number instead of the latest version. */
  readonly exact: boolean;
  /** Sends the owner, to distinguish shared secrets of one name. */
  readonly withOwner: boolean;
}

export interface ListRequest {
  /** Entity tag of the last list: only another one is returned. */
  readonly etag: string | undefined;
  /** Seconds for which the vault may hold the request until the list is another one. */
  readonly waitSeconds: number | undefined;
  /** Longest list that is read, and the memory for it. */
  readonly maxBytes: number;
  readonly memory: BodyMemory;
  readonly signal: AbortSignal;
}

/** A list as the vault returned it. */
export interface ListResponse {
  /** `undefined` if the list still has the requested entity tag. */
  readonly body: Uint8Array | undefined;
  /** Entity tag for the next conditional request; `undefined` if the vault sends none. */
  readonly etag: string | undefined;
  /** The vault held the request, or would have. */
  readonly held: boolean;
  /** Names that the scope of the token admits; `undefined`: not limited by name. */
  readonly admitted: ReadonlySet<string> | undefined;
}

export interface VaultApiOptions {
  readonly transport: VaultTransport;
  readonly breaker: CircuitBreaker;
  readonly pace: RequestPace;
  /** Passes logins and lists of all connections. */
  readonly gate: ListGate;
  /** Limits all responses but lists. */
  readonly memory: ResponseMemory;
  /** The one who waits for that memory; see `tenantOf`. */
  readonly tenant: string;
  readonly clock: Clock;
  readonly observer: VaultObserver;
  /** Returns the tokens, in turn obtained with `send`. */
  readonly tokens: () => TokenManager;
  readonly email: string;
  readonly timeoutMs: number;
  /** Name of the cluster in the header that names the consumer; without it there is none. */
  readonly reportAs?: string | undefined;
}

type ApiRequest = Pick<VaultRequest, "body" | "maxBytes" | "signal"> &
  Partial<
    Pick<
      VaultRequest,
      "consumer" | "deadlineMs" | "ifNoneMatch" | "waitSeconds" | "memory" | "upload"
    >
  > & {
    readonly guard?: WriteGuard | undefined;
  };

/** The one who wants to know a value, and until when. */
export interface ValueReader {
  readonly consumer: Consumer;
  readonly signal: AbortSignal;
}

/** A request that changes the vault. */
export interface WriteRequest {
  readonly body: object;
  readonly upload?: VaultRequest["upload"];
  /** Size of the content in bytes: its time at the slowest rate extends the deadline. */
  readonly size: number;
  readonly guard: WriteGuard | undefined;
  readonly signal: AbortSignal;
}

interface AuthorizedResponse {
  readonly response: VaultResponse;
  readonly token: Token;
}

/**
 * The client of one vault. Its requests pass the circuit breaker at a pace, responses are mapped to
 * `VaultError`s and reported to the observer. Reading operations are authorized with a token. Every
 * method throws a VaultError or the signal's reason.
 */
export class VaultApi {
  readonly #options: VaultApiOptions;
  /** The lists that were requested, successfully or not. */
  readonly #listed = new Set<Operation>();

  constructor(options: VaultApiOptions) {
    this.#options = options;
  }

  /** Returns a list without reading it. */
  async list(
    operation: "list_no_dup" | "list_file",
    { etag, waitSeconds = 0, ...limits }: ListRequest,
  ): Promise<ListResponse> {
    const { response, token } = await this.#authorized(operation, {
      body: {},
      deadlineMs: this.#options.timeoutMs + waitSeconds * 1_000,
      ifNoneMatch: etag,
      waitSeconds,
      ...limits,
    }).finally(() => this.#listed.add(operation));
    const held = WAIT_APPLIED.test(response.header("preference-applied") ?? "");
    const body = response.status === 304 ? undefined : response.body;
    return { body, etag: body ? etagOf(response) : etag, held, admitted: token.scope?.names };
  }

  /** Reads the value of one version by this route. */
  async expose(
    route: ExposeRoute,
    record: SecretRecord,
    version: number,
    { consumer, signal }: ValueReader,
  ): Promise<ReadValue> {
    const operation = exposeOperation(route);
    const body = {
      key_name: record.name,
      ...(route.exact && { key_version: version }),
      ...(route.withOwner && { owner: record.owner }),
    };
    const sent = { body, consumer: this.#named(consumer), maxBytes: MAX_VALUE_BYTES, signal };
    const { response } = await this.#options.pace.read(
      () => this.#authorized(operation, sent),
      signal,
    );
    return readValue(operation, parseJson(response.body), record, version);
  }

  /**
   * Returns bytes of the listed size and digest. @throws also TransientError `size_mismatch` or
   * `digest_mismatch`
   */
  async download(
    record: FileRecord,
    version: number,
    { consumer, signal }: ValueReader,
  ): Promise<EntryBytes> {
    const operation = "download_file";
    const listed = record.versions.find((each) => each.version === version);
    if (!listed) throw new PermanentError(operation, "version_not_found");
    if (listed.size > MAX_FILE_BYTES) throw new PermanentError(operation, "too_large");
    const deadlineMs = this.#options.timeoutMs + listed.size / SLOWEST_BYTES_PER_MS;
    const body = { filename: record.filename, version };
    const sent = {
      body,
      consumer: this.#named(consumer),
      maxBytes: listed.size,
      deadlineMs,
      signal,
    };
    const { response } = await this.#options.pace.read(
      () => this.#authorized(operation, sent),
      signal,
    );
    const label = response.header("x-file-version");
    if (label !== undefined && readCount(label) !== version)
      throw new UnexpectedResponse(operation, "x-file-version");
    if (response.body.byteLength !== listed.size)
      throw new TransientError(operation, "size_mismatch");
    const digest = listed.sha256 && createHash("sha256").update(response.body).digest("hex");
    if (digest !== listed.sha256) throw new TransientError(operation, "digest_mismatch");
    return { bytes: new Redacted(response.body), version };
  }

  /** Returns the response to a request for the latest version of an entry. */
  async latest(
    operation: Operation,
    body: object,
    { consumer, signal }: ValueReader,
  ): Promise<VaultResponse> {
    const sent = { body, consumer: this.#named(consumer), maxBytes: MAX_VALUE_BYTES, signal };
    return (await this.#authorized(operation, sent)).response;
  }

  /** Returns the consumer in the form of the header, if it is reported. */
  #named({ namespace, kind, name }: Consumer): string | undefined {
    const { reportAs } = this.#options;
    return reportAs === undefined ? undefined : `${reportAs}/${namespace}/${kind}/${name}`;
  }

  /**
   * Sends a write once, and once more after a 401, because a 401 stored nothing. Returns the
   * response.
   */
  async write(operation: Operation, { size, ...request }: WriteRequest): Promise<unknown> {
    const deadlineMs = this.#options.timeoutMs + size / SLOWEST_BYTES_PER_MS;
    const { response } = await this.#authorized(operation, {
      ...request,
      maxBytes: MAX_VALUE_BYTES,
      deadlineMs,
    });
    return parseJson(response.body);
  }

  /**
   * Returns a successful response: 2xx, or 304 to a request with `ifNoneMatch`. Time spent waiting
   * for its turn does not count against the deadline. The guard is checked directly before the
   * request is sent; a closed one prevents it.
   */
  async send(request: VaultRequest, guard?: WriteGuard): Promise<VaultResponse> {
    const { transport, breaker, pace, clock, observer } = this.#options;
    const { operation, signal } = request;
    await this.#waitForTurn(operation, signal);
    if (guard?.mayWrite() === false) throw new TransientError(operation, "not_leader");
    const deadlineMs = Math.min(request.deadlineMs, guard?.writeTimeoutMs() ?? Infinity);
    const start = clock.monotonic();
    const ended = (outcome: RequestOutcome): void =>
      observer.requestEnded(operation, outcome, clock.monotonic() - start);
    try {
      const response = await transport.request({ ...request, deadlineMs });
      const unchanged = response.status === 304 && request.ifNoneMatch !== undefined;
      if (response.status >= 300 && !unchanged)
        throw responseError(operation, response, clock.now());
      ended(unchanged ? "unchanged" : "ok");
      pace.succeeded();
      breaker.succeeded(operation);
      return response;
    } catch (error) {
      ended(isVaultError(error) ? error.kind : "aborted");
      if (error instanceof RateLimitedError) pace.throttled(error);
      breaker.failed(operation, error);
      throw error;
    }
  }

  async #waitForTurn(operation: Operation, signal: AbortSignal): Promise<void> {
    const { gate, pace } = this.#options;
    this.#admit(operation);
    if (PACED.has(operation))
      await gate.enter(this.#isFirst(operation) ? "first" : "later", signal);
    await pace.take(signal);
    // What was learned while this request waited counts too.
    this.#admit(operation);
  }

  /**
   * @throws RateLimitedError or TransientError `circuit_open` when no request of this operation
   * must be sent
   */
  #admit(operation: Operation): void {
    this.#options.pace.admit(operation);
    this.#options.breaker.admit(operation);
  }

  /** Reports whether resources wait for the first list that this request is, or is needed for. */
  #isFirst(operation: Operation): boolean {
    return !this.#listed.has(isList(operation) ? operation : "list_no_dup");
  }

  /**
   * Sends a request with a token; after a 401 once more with another token. Only a list decides
   * whether the vault rejects fresh tokens: a 401 for one value may concern that value only, so it
   * neither counts as a rejected login nor replaces a fresh token.
   */
  async #authorized(operation: Operation, request: ApiRequest): Promise<AuthorizedResponse> {
    if (request.memory) return this.#sendAuthorized(operation, request);
    const memory = this.#options.memory.of(this.#options.tenant, operation);
    try {
      return await this.#sendAuthorized(operation, { ...request, memory });
    } finally {
      memory.release();
    }
  }

  async #sendAuthorized(
    operation: Operation,
    { signal, guard, ...more }: ApiRequest,
  ): Promise<AuthorizedResponse> {
    const { email, timeoutMs } = this.#options;
    const tokens = this.#options.tokens();
    const request = {
      deadlineMs: timeoutMs,
      signal,
      ...more,
      operation,
      body: { email, ...more.body },
    };
    // No login for a request that would not be sent.
    this.#admit(operation);
    const token = await tokens.getToken(signal);
    try {
      return { response: await this.send({ ...request, token: token.access }, guard), token };
    } catch (error) {
      if (!isTokenRejection(error) || (!isList(operation) && tokens.isFresh(token))) throw error;
    }
    const fresh = await tokens.refreshAfter401(token, signal);
    try {
      return {
        response: await this.send({ ...request, token: fresh.access }, guard),
        token: fresh,
      };
    } catch (error) {
      throw isTokenRejection(error) && isList(operation)
        ? tokens.markRejected(fresh, error)
        : error;
    }
  }
}

const isList = (operation: Operation): boolean =>
  operation === "list_no_dup" || operation === "list_file";

function isTokenRejection(error: unknown): error is AuthError {
  return error instanceof AuthError && error.code === "token";
}

function etagOf(response: VaultResponse): string | undefined {
  const etag = response.header("etag");
  return etag !== undefined && ETAG.test(etag) ? etag : undefined;
}

function exposeOperation({ family, exact }: ExposeRoute): Operation {
  switch (family) {
    case "own":
      return exact ? "version_expose" : "expose";
    case "link":
      return exact ? "version_expose_link" : "expose_link";
  }
}
