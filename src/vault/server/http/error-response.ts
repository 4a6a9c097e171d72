import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
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

/**
 * Returns the page for a user who opens an address that leads nowhere; `undefined` for programs. It
 * names nothing of the request.
 */
function errorPage({ method, headers }: FastifyRequest, error: ServiceError): string | undefined {
  if (method !== "GET" || headers.accept?.includes("text/html") !== true) return undefined;
  switch (error.code) {
    case "not_found":
      return '<p>The vault has no page at this address. <a href="/">Open the vault</a></p>';
    case "misdirected_request":
      return `<p>The vault does not serve the host of this address.</p>
<p>If you run it behind a proxy, start it with <code>--app-url</code> and the URL that users open; a
further host is added with <code>--allowed-hosts</code>.</p>`;
    default:
      return undefined;
  }
}

export function sendError(reply: FastifyReply, error: ServiceError): FastifyReply {
  reply.request.trail?.reject(error);
  // The route may have set it for the response that the error replaces.
  reply.removeHeader("etag");
  if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
  reply.status(error.status).header("cache-control", "no-store");
  const page = errorPage(reply.request, error);
  if (page === undefined) return reply.send(errorResponse(error));
  return reply
    .header("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
    .type("text/html; charset=utf-8")
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Vaultsync</title>\n${page}\n`,
    );
}
