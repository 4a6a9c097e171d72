import type { FastifyError, FastifyReply } from "fastify";
import type { ErrorResponse } from "../../protocol/responses.ts";
import { errors, ServiceError } from "../errors.ts";
import { StoreUnavailableError } from "../store/store.ts";

/** What the HTTP framework found wrong, as the contract's codes. */
function fromFramework(error: FastifyError): ServiceError | undefined {
  switch (error.statusCode) {
    case 413:
      return errors.bodyTooLarge();
    case 415:
      return errors.unsupportedMediaType("application/json");
    case 400:
      return errors.unreadableRequest();
    default:
      return undefined;
  }
}

/** Every failure as a ServiceError: what is not foreseen is `internal`, without a word about why. */
export function toServiceError(error: FastifyError | Error): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailableError) return errors.storeUnavailable();
  return ("statusCode" in error ? fromFramework(error) : undefined) ?? errors.internal();
}

export function errorResponse(error: ServiceError): ErrorResponse {
  const details = error.details && { details: error.details };
  return { error: { code: error.code, message: error.message, ...details } };
}

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  reply.request.trail?.refuse(error);
  // Of the answer that a failure takes the place of.
  reply.removeHeader("etag");
  if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
  return reply.status(error.status).header("cache-control", "no-store").send(errorResponse(error));
}
