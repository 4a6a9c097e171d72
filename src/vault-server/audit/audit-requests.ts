import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { errorResponse, toServiceError } from "../http/error-response.ts";
import { errors, type ServiceError } from "../errors.ts";
import type { AuditLog } from "./audit-log.ts";
import { AuditTrail } from "./audit-trail.ts";
import { resultOf } from "./describe-request.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Of a request that is an operation, when the server keeps an audit log. */
    trail?: AuditTrail;
  }
}

/** What an answer keeps when another one takes its place. */
const KEPT_HEADERS = new Set(["x-request-id", "x-content-type-options"]);

/** Makes an answer that is ready to be sent a refusal; answers its body. */
function withhold(reply: FastifyReply, error: ServiceError): string {
  for (const name of Object.keys(reply.getHeaders())) if (!KEPT_HEADERS.has(name)) reply.removeHeader(name);
  const headers = { "cache-control": "no-store", "content-type": "application/json; charset=utf-8" };
  reply.status(error.status).headers({ ...headers, "retry-after": String(error.retryAfter ?? 1) });
  return JSON.stringify(errorResponse(error));
}

/**
 * Every operation leaves its lines in the log, also when it is refused, and none is served while lines cannot be written. Only an answer
 * that is sent past the framework has to call `trail.end` itself.
 */
export function auditRequests(app: FastifyInstance, log: AuditLog): void {
  app.decorateRequest("trail");
  app.addHook("onRequest", async (request) => {
    const { operation } = request.routeOptions.config;
    if (operation === undefined) return;
    await log.check();
    const { name, audit } = operation;
    request.trail = new AuditTrail(log, audit, { request: request.id, client: request.ip, operation: name });
    // An upload has its address in a header.
    if (typeof operation.request !== "function") request.trail.describeRequest({ email: request.headers.email });
  });
  app.addHook("preValidation", async (request) => request.trail?.describeRequest(request.body));
  app.addHook("preSerialization", async (request, _reply, payload) => {
    request.trail?.describe(resultOf(payload));
    return payload;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    try {
      await request.trail?.end(reply.statusCode);
      return payload;
    } catch (error) {
      if (payload instanceof Readable) payload.destroy();
      return withhold(reply, error instanceof Error ? toServiceError(error) : errors.auditLogUnavailable());
    }
  });
}
