import type { FastifyInstance } from "fastify";
import type { AuditLog } from "./audit-log.ts";
import { AuditTrail } from "./audit-trail.ts";
import { describeRequest } from "./describe-request.ts";
import { resultOf } from "./result-of.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Of a request that is an operation, when the server keeps an audit log. */
    trail?: AuditTrail;
  }
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
    request.trail = new AuditTrail(log, { request: request.id, client: request.ip, operation });
    if (operation === "protect_file") request.trail.describe(describeRequest({ email: request.headers.email }));
  });
  app.addHook("preValidation", async (request) => request.trail?.describe(describeRequest(request.body)));
  app.addHook("preSerialization", async (request, _reply, payload) => {
    request.trail?.describe(resultOf(payload));
    return payload;
  });
  app.addHook("onSend", async (request, reply, payload) => {
    await request.trail?.end(reply.statusCode);
    return payload;
  });
}
