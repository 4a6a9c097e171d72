import type { KubeErrorCause } from "../../../../src/operator/kube/kube-error.ts";

/** A cause as the API server reports it. */
type Cause = KubeErrorCause & { readonly message?: string };

/**
 * A failed request, as the API server reports it in a `metav1.Status`. The client maps it as it
 * maps a response.
 */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly causes: readonly Cause[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: number,
    reason: string,
    message = "",
    causes: readonly Cause[] = [],
    retryAfterSeconds?: number,
  ) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.causes = causes;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  /** The response body. Without a reason it is the page of a server that does not know the path. */
  get body(): object | undefined {
    if (this.reason === "") return undefined;
    const { code, reason, message, causes, retryAfterSeconds } = this;
    return { kind: "Status", code, reason, message, details: { causes, retryAfterSeconds } };
  }
}

export const notFound = (): StatusError => new StatusError(404, "NotFound");
export const alreadyExists = (): StatusError => new StatusError(409, "AlreadyExists");
export const conflict = (causes: readonly Cause[] = []): StatusError =>
  new StatusError(409, "Conflict", "", causes);
/** Another field manager owns fields that a server-side apply changes. */
export const fieldConflict = (
  conflicts: readonly { readonly path: string; readonly manager: string }[],
): StatusError =>
  conflict(
    conflicts.map(({ path, manager }) => ({
      field: path,
      reason: "FieldManagerConflict",
      message: `conflict with "${manager}" using v1`,
    })),
  );
export const gone = (): StatusError => new StatusError(410, "Expired");
export const badRequest = (): StatusError => new StatusError(400, "BadRequest");
export const forbidden = (message = "", causes: readonly Cause[] = []): StatusError =>
  new StatusError(403, "Forbidden", message, causes);
export const invalid = (...causes: Cause[]): StatusError =>
  new StatusError(422, "Invalid", "", causes);

/**
 * The responses to requests whose object cannot be read. The real server responds differently to a
 * patch and an apply.
 */
export const malformed = {
  version: (): StatusError =>
    invalid({ field: "metadata.resourceVersion", reason: "FieldValueInvalid" }),
  patch: (): StatusError => invalid({ field: "patch", reason: "FieldValueInvalid" }),
  apply: (): StatusError => new StatusError(500, ""),
};
