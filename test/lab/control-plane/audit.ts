import { open } from "node:fs/promises";
import { z } from "zod";

/** The fields of an audit event (audit.k8s.io/v1, Metadata level) that tests use. */
export const AuditEvent = z.object({
  auditID: z.string(),
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  userAgent: z.string().optional(),
  user: z.object({
    username: z.string().optional(),
    extra: z.record(z.string(), z.array(z.string())).optional(),
  }),
  objectRef: z
    .object({
      resource: z.string().optional(),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      apiGroup: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.int().optional(), message: z.string().optional() }).optional(),
  requestReceivedTimestamp: z.string(),
});
export type AuditEvent = z.infer<typeof AuditEvent>;

/** Selects requests by the fields that are set. `resource` is e.g. `secrets` or `leases`. */
export interface RequestFilter {
  readonly user?: string;
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  /** A subresource, e.g. `status`; `""` selects requests to the resource itself. */
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent?: RegExp;
  /** Path and query. */
  readonly uri?: RegExp;
}

export function matches(event: AuditEvent, filter: RequestFilter): boolean {
  const { objectRef } = event;
  const verbs =
    filter.verb === undefined || typeof filter.verb === "string" ? [filter.verb] : filter.verb;
  return (
    same(filter.user, event.user.username) &&
    verbs.some((verb) => same(verb, event.verb)) &&
    same(filter.resource, objectRef?.resource) &&
    same(filter.subresource, objectRef?.subresource) &&
    same(filter.namespace, objectRef?.namespace) &&
    same(filter.name, objectRef?.name) &&
    (filter.uri === undefined || filter.uri.test(event.requestURI)) &&
    (filter.userAgent === undefined || filter.userAgent.test(event.userAgent ?? ""))
  );
}

function same(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === (actual ?? "");
}

/**
 * Reads the requests in an audit log from byte `since` and returns one event per request, and the
 * position after the last one. A line that began before `since` is skipped: it may have been
 * written in part at that time. The event is the latest stage: `ResponseStarted` for a running
 * watch, otherwise `ResponseComplete`.
 */
export async function readAuditLog(
  file: string,
  since: number,
): Promise<{ events: AuditEvent[]; end: number }> {
  await using log = await open(file);
  const { size } = await log.stat();
  const from = Math.max(0, since - 1);
  const bytes = Buffer.alloc(Math.max(0, size - from));
  const { bytesRead } = await log.read(bytes, 0, bytes.length, from);
  const read = bytes.subarray(0, bytesRead);
  const [start, end] = [since === 0 ? 0 : read.indexOf(10) + 1, read.lastIndexOf(10) + 1];
  const latest = new Map<string, AuditEvent>();
  for (const line of read.toString("utf8", start, end).split("\n")) {
    if (line === "") continue;
    const event = AuditEvent.parse(JSON.parse(line));
    latest.set(event.auditID, event);
  }
  return { events: [...latest.values()], end: Math.max(since, from + end) };
}
