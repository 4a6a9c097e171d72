import type { z } from "zod";
import type { ErrorCode } from "./error-codes.ts";
import type { Operation } from "./operation-paths.ts";

/** Limits of one server that shape its requests. */
export interface RequestLimits {
  /** Code points of a name. */
  readonly nameCharacters: number;
  /** Entries of a list. */
  readonly entriesPerRequest: number;
  /** Shares that one request may create: names times recipients. */
  readonly sharesPerRequest: number;
  readonly filesPerRequest: number;
}

export type OperationTag =
  | "Tokens"
  | "Secrets"
  | "Shared secrets"
  | "Teams"
  | "Files"
  | "Trash"
  | "Web application";

/** The schema that a server with these limits parses the JSON body with. */
export type JsonRequest = (limits: RequestLimits) => z.ZodType;

/** A multipart body; each part with a filename is a file, the headers replace body fields. */
interface UploadRequest {
  readonly headers: (limits: RequestLimits) => z.ZodObject;
  readonly form: z.ZodObject;
}

/** Marks a response that is a file's bytes instead of JSON. */
export const octetStream = "application/octet-stream";

/** A follow-up request that a success makes possible; values are OpenAPI runtime expressions. */
export interface OperationLink {
  readonly operation: Operation;
  readonly description: string;
  readonly request: Readonly<Record<string, unknown>>;
}

/**
 * Request fields that the audit log may record. Values, metadata, passwords and tokens are not
 * among them.
 */
type AuditField =
  | "key_name"
  | "key_version"
  | "owner"
  | "usr_id_from"
  | "usr_id_to"
  | "group_id_to"
  | "permission"
  | "group_id"
  | "members"
  | "filename"
  | "version"
  | "scope"
  | "expiration_hours"
  | "allowed_networks"
  | "lifetime_hours"
  | "permanently"
  | "new_name"
  | "name"
  | "id";

export interface AuditRule {
  /**
   * Writes the intent to the audit log once the caller is authenticated, before the operation's
   * effect. `never` for operations that change nothing.
   */
  readonly intent: "never" | "authenticated";
  /** Recorded in addition to `email`. */
  readonly fields: readonly AuditField[];
}

/** Everything that is specific to one operation; all operations are POST. */
export interface OperationDefinition {
  /** Operation id in the OpenAPI document, logs, metrics and the audit log. */
  readonly name: string;
  readonly path: string;
  readonly tag: OperationTag;
  readonly summary: string;
  readonly description: string;
  readonly authentication: "access-token" | "session" | "none";
  readonly request: JsonRequest | UploadRequest;
  readonly response: z.ZodType | typeof octetStream;
  /**
   * Rejected while the server is low on disk space, because it stores more than an operation needs
   * that deletes or logs in.
   */
  readonly addsData?: true;
  /** Frees disk space: successes are not throttled while the server is low on it. */
  readonly freesSpace?: true;
  /** The response has an etag, and `if-none-match` may turn it into 304. */
  readonly etag?: true;
  /** With `if-none-match`, the preference `wait` makes the request wait until the list changes. */
  readonly waits?: true;
  /** Reads a value: the client may name the resource that reads it. */
  readonly readsValue?: true;
  /**
   * The response is a list without values and tokens: it may be compressed
   * (docs/design/vault-contract.md#compression).
   */
  readonly compressible?: true;
  /** Codes in addition to the codes of every operation. */
  readonly errors: readonly ErrorCode[];
  readonly audit: AuditRule;
  /** Made-up JSON bodies; no request for uploads, no response for downloads. */
  readonly example: {
    readonly request?: Readonly<Record<string, unknown>>;
    readonly response?: Readonly<Record<string, unknown>>;
  };
  readonly links?: readonly OperationLink[];
}

/** Returns the definition with its literal types. */
export function defineOperation<const D extends OperationDefinition>(definition: D): D {
  return definition;
}
