import { createHash } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Redacted } from "../../lib/redacted.ts";
import type { Operation } from "../../protocol/operations.ts";
import type { FileContent, FileRecord, SecretRecord, SecretValue } from "./connection.ts";
import { AuthError, PermanentError, TransientError, UnexpectedResponse } from "./vault-error.ts";
import type { VaultHttp } from "./http/vault-http.ts";
import { parseJson } from "./http/parse-json.ts";
import { readCount } from "./readers/field.ts";
import { readFiles } from "./readers/read-files.ts";
import { readSecrets } from "./readers/read-secrets.ts";
import { readValue } from "./readers/read-value.ts";
import type { TokenManager } from "./auth/token-manager.ts";
import type { VaultRequest, VaultResponse } from "./http/vault-transport.ts";

const MIB = 1024 * 1024;
const MAX_LIST_BYTES = 64 * MIB;
const MAX_VALUE_BYTES = 2 * MIB;
export const MAX_FILE_BYTES = 64 * MIB;
/** A download may take as much longer than other calls as its size takes at this rate. */
const SLOWEST_BYTES_PER_MS = MIB / 1000;
const ETAG = /^(W\/)?"[\x21\x23-\x7e]{0,256}"$/;

/** How a value is asked for. */
export interface ExposeRoute {
  readonly family: "own" | "link";
  /** By its exact version number, or the latest whatever it is. */
  readonly exact: boolean;
  /** With the owner, to tell two shared secrets of one name apart. */
  readonly withOwner: boolean;
}

export interface Listing<T> {
  readonly records: readonly T[];
  /** To ask next time whether anything has changed; `undefined` where the vault gives none. */
  readonly etag: string | undefined;
}

export interface VaultApiOptions {
  readonly http: VaultHttp;
  readonly tokens: TokenManager;
  readonly email: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
}

type Call = Pick<VaultRequest, "body" | "maxBytes" | "signal"> & Partial<Pick<VaultRequest, "deadlineMs" | "ifNoneMatch">>;

/** The reading operations of the service, with a token that works. All throw a VaultError or the signal's reason. */
export class VaultApi {
  readonly #options: VaultApiOptions;

  constructor(options: VaultApiOptions) {
    this.#options = options;
  }

  /** `undefined`: nothing has changed since the listing with this etag. */
  async listSecrets(etag: string | undefined, signal: AbortSignal): Promise<Listing<SecretRecord> | undefined> {
    const answer = await this.#list("list_no_dup", etag, signal);
    return answer && { records: readSecrets(parseJson(answer.body), this.#options.clock.now()), etag: etagOf(answer) };
  }

  /** `undefined`: nothing has changed since the listing with this etag. */
  async listFiles(etag: string | undefined, signal: AbortSignal): Promise<Listing<FileRecord> | undefined> {
    const answer = await this.#list("list_file", etag, signal);
    return answer && { records: readFiles(parseJson(answer.body)), etag: etagOf(answer) };
  }

  async expose(route: ExposeRoute, record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue> {
    const operation = exposeOperation(route);
    const body = {
      key_name: record.name,
      ...(route.exact && { key_version: version }),
      ...(route.withOwner && { owner: record.owner }),
    };
    const answer = await this.#call(operation, { body, maxBytes: MAX_VALUE_BYTES, signal });
    return readValue(operation, parseJson(answer.body), record, version);
  }

  /** The bytes are those that the list describes, or it throws TransientError `size_mismatch` or `digest_mismatch`. */
  async download(record: FileRecord, version: number, signal: AbortSignal): Promise<FileContent> {
    const operation = "download_file";
    const listed = record.versions.find((each) => each.version === version);
    if (!listed) throw new PermanentError(operation, "version_not_found");
    if (listed.size > MAX_FILE_BYTES) throw new PermanentError(operation, "too_large");
    const deadlineMs = this.#options.timeoutMs + listed.size / SLOWEST_BYTES_PER_MS;
    const body = { filename: record.filename, version };
    const answer = await this.#call(operation, { body, maxBytes: MAX_FILE_BYTES, deadlineMs, signal });
    const said = answer.header("x-file-version");
    if (said !== undefined && readCount(said) !== version) throw new UnexpectedResponse(operation, "x-file-version");
    if (answer.body.byteLength !== listed.size) throw new TransientError(operation, "size_mismatch");
    const digest = listed.sha256 && createHash("sha256").update(answer.body).digest("hex");
    if (digest !== listed.sha256) throw new TransientError(operation, "digest_mismatch");
    return { bytes: new Redacted(answer.body), version };
  }

  async #list(operation: Operation, etag: string | undefined, signal: AbortSignal): Promise<VaultResponse | undefined> {
    const answer = await this.#call(operation, { body: {}, maxBytes: MAX_LIST_BYTES, ifNoneMatch: etag, signal });
    return answer.status === 304 ? undefined : answer;
  }

  /** With a token; on a 401 with a renewed one, once. */
  async #call(operation: Operation, call: Call): Promise<VaultResponse> {
    const { http, tokens, email, timeoutMs } = this.#options;
    const request = { deadlineMs: timeoutMs, ...call, operation, body: { email, ...call.body } };
    const token = await tokens.access(call.signal);
    try {
      return await http.send({ ...request, token: token.access });
    } catch (error) {
      if (!isTokenRefusal(error)) throw error;
    }
    const renewed = await tokens.renew(token, call.signal);
    try {
      return await http.send({ ...request, token: renewed.access });
    } catch (error) {
      throw isTokenRefusal(error) ? tokens.reject(renewed, error) : error;
    }
  }
}

function isTokenRefusal(error: unknown): error is AuthError {
  return error instanceof AuthError && error.code === "token";
}

function etagOf(answer: VaultResponse): string | undefined {
  const etag = answer.header("etag");
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
