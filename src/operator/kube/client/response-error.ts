import { z } from "zod";
import {
  KubeError,
  OWNER_DENIED,
  OWNER_UNKNOWN,
  type KubeErrorCause,
  type KubeErrorKind,
} from "../kube-error.ts";
import { retryAfterMs } from "../../lib/retry-after.ts";

const Cause = z.object({
  field: z.string().catch(""),
  reason: z.string().catch(""),
  message: z.string().catch(""),
});

/**
 * The fields of `metav1.Status` that are used here. `message` leaves this file only for a denied
 * read, because it quotes no value there. For a denied write, only the name of the policy leaves it
 * (docs/design/security.md#api-server-messages).
 */
const Status = z.object({
  kind: z.literal("Status"),
  code: z.number().optional().catch(undefined),
  reason: z.string().catch(""),
  message: z.string().catch(""),
  details: z
    .object({
      causes: z.array(Cause).catch([]),
      retryAfterSeconds: z.number().optional().catch(undefined),
    })
    .catch({ causes: [], retryAfterSeconds: undefined }),
});
type Status = z.infer<typeof Status>;

/** A response whose status is not 2xx, or an ERROR event of a watch. */
export interface FailedResponse {
  readonly operation: string;
  /** HTTP status; for an ERROR event, the code of its Status. */
  readonly status: number;
  /** The parsed body; `undefined` when it is not JSON. */
  readonly body: unknown;
  readonly retryAfter?: string | undefined;
  /**
   * The header that the API server adds to each of its responses. A proxy in front of it adds none
   * to the responses that the proxy creates.
   */
  readonly auditId?: string | undefined;
  /** The request only reads, so the server's message quotes no object. */
  readonly onlyReads?: boolean;
  /** Wall-clock time in ms, for a `Retry-After` that is a date. */
  readonly now: number;
}

/**
 * Maps a failed response to a `KubeError`. The error contains nothing of the server's own wording,
 * unless a read was denied.
 */
export function responseError(response: FailedResponse): KubeError {
  const parsed = Status.safeParse(response.body);
  const status = parsed.success ? parsed.data : undefined;
  const seconds = status?.details.retryAfterSeconds;
  return new KubeError({
    operation: response.operation,
    kind: status ? kindOf(response.status, status) : kindWithoutStatus(response),
    status: response.status,
    reason: whyOwnerIsDenied(status) ?? word(status?.reason ?? ""),
    causes: status?.details.causes.map(cleanCause) ?? [],
    deniedBy: deniedBy(response.status, status),
    explanation: explanationOf(response, status),
    retryAfterMs: retryAfterMs(response.retryAfter ?? seconds?.toString(), response.now),
  });
}

function explanationOf(
  { onlyReads = false, status: code }: FailedResponse,
  status: Status | undefined,
): string | undefined {
  if (!onlyReads || (code !== 401 && code !== 403) || status === undefined || status.message === "")
    return undefined;
  return printable(status.message, 300);
}

/**
 * Returns why the admission plugin OwnerReferencesPermissionEnforcement denied an owner reference
 * that blocks deletion, if it did.
 */
function whyOwnerIsDenied(status: Status | undefined): string | undefined {
  const [, why] =
    /^[a-z.]+ "[^"]*" is forbidden: cannot set blockOwnerDeletion (.*)/.exec(
      status?.message ?? "",
    ) ?? [];
  if (why === undefined) return undefined;
  return why.startsWith("in this case because cannot find RESTMapping")
    ? OWNER_UNKNOWN
    : OWNER_DENIED;
}

const DENIAL =
  /^(?:[a-z.]+ "[^"]*" is forbidden: ValidatingAdmissionPolicy '(?<policy>[a-z0-9.-]{1,253})' with binding '|admission webhook "(?<webhook>[a-z0-9.-]{1,253})" denied the request)/u;

/**
 * Returns what denied a request. The name of the object precedes the name of a policy in quotes, and
 * no name contains a quote.
 */
function deniedBy(code: number, status: Status | undefined): string | undefined {
  if (code !== 400 && code !== 403 && code !== 422) return undefined;
  const { policy, webhook } = DENIAL.exec(status?.message ?? "")?.groups ?? {};
  if (policy !== undefined) return `the ValidatingAdmissionPolicy ${policy}`;
  return webhook === undefined ? undefined : `the admission webhook ${webhook}`;
}

/** Returns the code of the Status in an ERROR event; 500 without one. */
export function statusCodeOf(body: unknown): number {
  const parsed = Status.safeParse(body);
  return parsed.success ? (parsed.data.code ?? 500) : 500;
}

function kindOf(code: number, status: Status): KubeErrorKind {
  const { causes } = status.details;
  switch (code) {
    case 404:
      return "NotFound";
    case 403:
      if (causes.some(({ reason }) => reason === "NamespaceTerminating"))
        return "NamespaceTerminating";
      return /exceeded quota|failed quota/.test(status.message) ? "QuotaExceeded" : "Forbidden";
    case 409:
      return status.reason === "AlreadyExists" ? "AlreadyExists" : "Conflict";
    case 400:
    case 422:
      return causes.some(({ reason }) => reason === "FieldValueTooLong") ? "TooLarge" : "Invalid";
    case 500:
      return status.reason === "ServerTimeout" || status.reason === "Timeout"
        ? "Timeout"
        : "Unavailable";
    default:
      return kindOfBareCode(code);
  }
}

/** The API server responds with plain text for the path of a resource that it does not serve. */
function kindWithoutStatus({ status, auditId }: FailedResponse): KubeErrorKind {
  return status === 404 && auditId !== undefined ? "NotServed" : kindOfBareCode(status);
}

/**
 * Maps a status code without a readable Status. The response may come from a proxy, whose 404 does
 * not mean that the object is gone.
 */
function kindOfBareCode(code: number): KubeErrorKind {
  if (code === 401) return "Unauthorized";
  if (code === 403) return "Forbidden";
  if (code === 408 || code === 504) return "Timeout";
  if (code === 410) return "Gone";
  if (code === 413) return "TooLarge";
  if (code === 429) return "TooManyRequests";
  return code >= 500 ? "Unavailable" : "Unexpected";
}

function word(text: string): string {
  return /^[A-Za-z][A-Za-z0-9]{0,63}$/.test(text) ? text : "";
}

const printable = (text: string, length = 128): string =>
  text.replace(/[^\x20-\x7e]/g, "?").slice(0, length);

function cleanCause(cause: z.infer<typeof Cause>): KubeErrorCause {
  const [, manager] =
    /^conflict with "([^"]+)"/.exec(cause.reason === "FieldManagerConflict" ? cause.message : "") ??
    [];
  return {
    field: printable(cause.field),
    reason: word(cause.reason),
    ...(manager !== undefined && { manager: printable(manager) }),
  };
}
