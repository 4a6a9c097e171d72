import type { FastifyRequest } from "fastify";
import { parseConsumer } from "../../../protocol/consumer.ts";
import { CONSUMER_HEADER } from "../../../protocol/headers.ts";

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
