import { open } from "node:fs/promises";
import { z } from "zod";

/** The part of an audit event (audit.k8s.io/v1, Metadata level) that tests look at. */
export const AuditEvent = z.object({
  auditID: z.string(),
  stage: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  userAgent: z.string().optional(),
  user: z.object({ username: z.string().optional() }),
  objectRef: z
    .object({
      resource: z.string().optional(),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
      apiGroup: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.int().optional() }).optional(),
  requestReceivedTimestamp: z.string(),
});
export type AuditEvent = z.infer<typeof AuditEvent>;

/** What must hold of a request to be counted; what is absent does not matter. `resource` is e.g. `secrets`, `leases`. */
export interface RequestFilter {
  readonly user?: string;
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  /** `""` for requests to the resource itself, e.g. `status` for its subresource. */
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent?: RegExp;
}

export function matches(event: AuditEvent, filter: RequestFilter): boolean {
  const { objectRef } = event;
  const verbs = filter.verb === undefined || typeof filter.verb === "string" ? [filter.verb] : filter.verb;
  return (
    same(filter.user, event.user.username) &&
    verbs.some((verb) => same(verb, event.verb)) &&
    same(filter.resource, objectRef?.resource) &&
    same(filter.subresource, objectRef?.subresource) &&
    same(filter.namespace, objectRef?.namespace) &&
    same(filter.name, objectRef?.name) &&
    (filter.userAgent === undefined || filter.userAgent.test(event.userAgent ?? ""))
  );
}

function same(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === (actual ?? "");
}

/**
 * The requests in an audit log from byte `since` on, one event a request (its latest stage: a watch that still runs has
 * `ResponseStarted`, everything else `ResponseComplete`), and the byte up to which was read.
 */
export async function readAuditLog(file: string, since: number): Promise<{ events: AuditEvent[]; end: number }> {
  await using log = await open(file);
  const { size } = await log.stat();
  const bytes = Buffer.alloc(Math.max(0, size - since));
  const { bytesRead } = await log.read(bytes, 0, bytes.length, since);
  const whole = bytes.subarray(0, bytesRead).lastIndexOf(10) + 1;
  const latest = new Map<string, AuditEvent>();
  for (const line of bytes.toString("utf8", 0, whole).split("\n")) {
    if (line === "") continue;
    const event = AuditEvent.parse(JSON.parse(line));
    latest.set(event.auditID, event);
  }
  return { events: [...latest.values()], end: since + whole };
}
