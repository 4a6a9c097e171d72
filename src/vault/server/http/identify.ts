import type { FastifyRequest } from "fastify";
import { IDENTIFIED } from "./connection-limits.ts";

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
