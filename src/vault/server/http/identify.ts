import type { FastifyRequest } from "fastify";
import { IDENTIFIED } from "./connection-limits.ts";
import { parseConsumer } from "../../../protocol/consumer.ts";
import { CONSUMER_HEADER } from "../../../protocol/headers.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Canonical email of the authenticated user; `undefined` for a stranger. */
    user?: string;
  }
}

/** Records the authenticated user of a request. */
export function identify(request: FastifyRequest, email: string): void {
  request.user = email;
  request.raw.socket.emit(IDENTIFIED);
  request.trail?.identify(email);
}

/**
 * Returns the resource that an authenticated request names as the reader of a value, and adds it to
 * the line of the audit log. A malformed name counts as none.
 */
export function consumerOf(request: FastifyRequest): string | undefined {
  const header = request.headers[CONSUMER_HEADER];
  if (typeof header !== "string" || parseConsumer(header) === undefined) return undefined;
  request.trail?.describeCaller({ consumer: header });
  return header;
}
