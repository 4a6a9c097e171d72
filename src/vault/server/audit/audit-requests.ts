import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { errorResponse, toServiceError } from "../http/error-response.ts";
import { headerText } from "../http/header-text.ts";
import { errors, type ServiceError } from "../errors.ts";
import type { AuditBudget } from "./audit-budget.ts";
import type { AuditLog } from "./audit-log.ts";
import { AuditTrail } from "./audit-trail.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set for operations when the server keeps an audit log. */
    trail?: AuditTrail;
  }
}

/** Headers that a withheld response keeps. */
const KEPT_HEADERS = new Set(["x-request-id", "x-content-type-options"]);

/** Replaces a response that is ready to be sent by an error, and returns its body. */
function withhold(reply: FastifyReply, error: ServiceError): string {
  for (const name of Object.keys(reply.getHeaders()))
    if (!KEPT_HEADERS.has(name)) reply.removeHeader(name);
  const headers = {
    "cache-control": "no-store",
    "content-type": "application/json; charset=utf-8",
  };
  reply.status(error.status).headers({ ...headers, "retry-after": String(error.retryAfter ?? 1) });
  return JSON.stringify(errorResponse(error));
}

/**
 * Logs every operation, also rejected ones, and serves none while the log is not writable. Only a
 * route that bypasses the framework to send its response must call `trail.end` itself.
 */
export function auditRequests(app: FastifyInstance, log: AuditLog, budget: AuditBudget): void {
  app.decorateRequest("trail");
  app.addHook("onRequest", async (request) => {
    const { operation } = request.routeOptions.config;
    if (operation === undefined) return;
    await log.check();
    const origin = { request: request.id, client: request.ip, operation: operation.name };
    request.trail = new AuditTrail(log, budget, operation, origin);
    // An upload has its address in a header.
    const { email } = request.headers;
    if (typeof operation.request !== "function" && typeof email === "string")
      request.trail.describeRequest({ email: headerText(email) });
  });
  app.addHook("preValidation", async (request) => request.trail?.describeRequest(request.body));
  app.addHook("preSerialization", async (request, _reply, payload) => {
    request.trail?.describeResponse(payload);
    return payload;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    try {
      await request.trail?.end(reply.statusCode);
      return payload;
    } catch (error) {
      if (payload instanceof Readable) payload.destroy();
      return withhold(
        reply,
        error instanceof Error ? toServiceError(error) : errors.auditLogUnavailable(),
      );
    }
  });
}
