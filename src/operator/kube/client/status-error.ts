import { z } from "zod";
import { KubeError, type KubeErrorCause, type KubeErrorKind } from "../kube-error.ts";
import { retryAfterMs } from "../../../lib/retry-after.ts";

const Cause = z.object({ field: z.string().catch(""), reason: z.string().catch("") });

/** `metav1.Status`, as much of it as may leave this file; `message` is looked at here and dropped. */
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

/** What a refusal is made of. */
export interface Refusal {
  readonly operation: string;
  /** HTTP status; for an ERROR inside a watch, that of the Status. */
  readonly status: number;
  /** The parsed body, whatever it is; `undefined` when it was no JSON. */
  readonly body: unknown;
  readonly retryAfter?: string | undefined;
  /** Wall clock, for a `Retry-After` that is a date. */
  readonly now: number;
}

/** The error for an answer that is not a success. Nothing of the server's own wording gets into it. */
export function errorOfRefusal(refusal: Refusal): KubeError {
  const parsed = Status.safeParse(refusal.body);
  const status = parsed.success ? parsed.data : undefined;
  const seconds = status?.details.retryAfterSeconds;
  return new KubeError({
    operation: refusal.operation,
    kind: status ? kindOf(refusal.status, status) : kindOfBareCode(refusal.status),
    status: refusal.status,
    reason: word(status?.reason ?? ""),
    causes: status?.details.causes.map(cleanCause) ?? [],
    retryAfterMs: retryAfterMs(refusal.retryAfter ?? seconds?.toString(), refusal.now),
  });
}

/** The code of a Status that came inside a watch; 500 when there is none. */
export function codeOfStatus(body: unknown): number {
  const parsed = Status.safeParse(body);
  return parsed.success ? (parsed.data.code ?? 500) : 500;
}

function kindOf(code: number, status: Status): KubeErrorKind {
  const { causes } = status.details;
  switch (code) {
    case 404:
      return "NotFound";
    case 403:
      if (causes.some(({ reason }) => reason === "NamespaceTerminating")) return "NamespaceTerminating";
      return /exceeded quota|failed quota/.test(status.message) ? "QuotaExceeded" : "Forbidden";
    case 409:
      return status.reason === "AlreadyExists" ? "AlreadyExists" : "Conflict";
    case 400:
    case 422:
      return causes.some(({ reason }) => reason === "FieldValueTooLong") ? "TooLarge" : "Invalid";
    case 500:
      return status.reason === "ServerTimeout" || status.reason === "Timeout" ? "Timeout" : "Unavailable";
    default:
      return kindOfBareCode(code);
  }
}

/** Without a readable Status it may be anybody's answer: a proxy's 404 does not say that the object is gone. */
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

function cleanCause(cause: z.infer<typeof Cause>): KubeErrorCause {
  return { field: cause.field.replace(/[^\x20-\x7e]/g, "?").slice(0, 128), reason: word(cause.reason) };
}
