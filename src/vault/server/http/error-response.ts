import type { FastifyError, FastifyReply } from "fastify";
import type { ErrorResponse } from "../../../protocol/responses.ts";
import { errors, ServiceError } from "../errors.ts";
import { UnknownKeyError } from "../crypto/key-ring.ts";
import { StoreUnavailableError } from "../store/store.ts";

/** Maps an error of the HTTP framework to an error of the protocol. */
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

/** Maps any error to a ServiceError; unexpected ones become `internal` without details. */
export function toServiceError(error: FastifyError | Error): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof StoreUnavailableError) return errors.storeUnavailable();
  if (error instanceof UnknownKeyError) return errors.missingMasterKey();
  return ("statusCode" in error ? fromFramework(error) : undefined) ?? errors.internal();
}

export function errorResponse(error: ServiceError): ErrorResponse {
  const details = error.details && { details: error.details };
  return { error: { code: error.code, message: error.message, ...details } };
}

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  reply.request.trail?.reject(error);
  // The route may have set it for the response that the error replaces.
  reply.removeHeader("etag");
  if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
  return reply.status(error.status).header("cache-control", "no-store").send(errorResponse(error));
}
