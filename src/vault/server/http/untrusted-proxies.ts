import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Logger } from "../../../lib/logger.ts";
import { IGNORED_FORWARDED_HEADER } from "../../../protocol/headers.ts";

interface Observation {
  readonly logger: Pick<Logger, "warn">;
  readonly metrics: { readonly untrustedForwarded: { inc(): void } };
}

/** Reports whether a peer that is no trusted proxy forwards a request, or says so. */
const isForwarded = ({ headers, ip, socket }: FastifyRequest): boolean =>
  (headers["x-forwarded-for"] ?? headers["forwarded"]) !== undefined && ip === socket.remoteAddress;

/**
 * Counts forwarded requests whose header is ignored, and warns of the first one: all users behind a
 * proxy that is not trusted share its address, and with it the limits for strangers. Responses to
 * authenticated requests say so in a header; `vaultsync doctor` reports it.
 */
export function reportUntrustedProxies(
  app: FastifyInstance,
  { logger, metrics }: Observation,
): void {
  let isReported = false;
  app.addHook("onRequest", async (request) => {
    if (!isForwarded(request)) return;
    metrics.untrustedForwarded.inc();
    if (isReported) return;
    isReported = true;
    logger.warn(
      { address: request.ip },
      "ignored the forwarded address of a request: if a proxy of yours sent it, list its address in --trust-proxy, or its users lock each other out",
    );
  });
  app.addHook("onSend", async (request, reply, payload) => {
    if (request.user !== undefined && isForwarded(request))
      reply.header(IGNORED_FORWARDED_HEADER, "true");
    return payload;
  });
}
