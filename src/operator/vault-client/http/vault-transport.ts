import type { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";

/** Begins the details of failures of a proxy: its status, or the code of the network. */
export const PROXY_PREFIX = "PROXY_";

/** A file to upload. */
export interface FileUpload {
  readonly filename: string;
  readonly bytes: Redacted<Uint8Array>;
}

/** The memory that the body of a successful response takes. */
export interface BodyMemory {
  /**
   * Waits for the memory of a body of this announced length, before it is read. @throws
   * TransientError `no_memory` when aborted
   */
  reserve(announced: number | undefined, signal: AbortSignal): Promise<void>;
  /** Takes more for a body that has this length so far. @throws TransientError `no_memory` */
  grow(length: number): void;
  /** Returns the error of a body that takes memory for too long. */
  timeout(): Error;
}

/** A request with its limits. */
export interface VaultRequest {
  readonly operation: Operation;
  readonly body: object;
  /** Sent instead of the body, as `multipart/form-data`. The members of `body` become headers. */
  readonly upload?: FileUpload | undefined;
  readonly token?: Redacted<string> | undefined;
  /** The resource that a value is read for, `cluster/namespace/Kind/name`, for the vault. */
  readonly consumer?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  /**
   * Seconds for which the vault may hold a conditional request (RFC 7240, `Prefer: wait`). The
   * deadline includes them.
   */
  readonly waitSeconds?: number | undefined;
  /** Maximum size of a successful response in bytes. */
  readonly maxBytes: number;
  /** Limits the bodies of all requests together. Without it, the body is read as it arrives. */
  readonly memory?: BodyMemory | undefined;
  /** Time in ms for the whole request, from connecting to the last byte. */
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
}

/** A whole response, whatever its status. */
export interface VaultResponse {
  readonly status: number;
  readonly body: Uint8Array;
  /** Returns a header by its lower-case name. */
  header(name: string): string | undefined;
}

/**
 * The port to one vault (docs/design/engine.md#ports). Sends one POST and reads one whole response
 * within its limits.
 */
export interface VaultTransport extends AsyncDisposable {
  /**
   * Returns the response without interpreting its status.
   * @throws TransientError, PermanentError (`too_large`, `list_too_long`), UnexpectedResponse,
   * RefusedError, or the signal's reason
   */
  request(request: VaultRequest): Promise<VaultResponse>;
  /**
   * Makes new sockets trust this PEM bundle (`undefined`: the public authorities). Requests in
   * flight finish on the old sockets.
   */
  updateCa(ca: string | undefined): void;
}
