import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import fastifyCompress from "@fastify/compress";
import fastifyCookie from "@fastify/cookie";
import {
  fastify,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import { auditRequests } from "./audit/audit-requests.ts";
import { AllowedHosts } from "../../lib/allowed-hosts.ts";
import { longWork } from "./long-work.ts";
import { clientNetwork, reportUntrustedProxies } from "./http/client-network.ts";
import { liveCredential } from "./accounts/authenticate.ts";
import { countRequest } from "./protection/token-buckets.ts";
import type { VaultContext } from "./context.ts";
import { limitConnections } from "./http/connection-limits.ts";
import { addDeadlines } from "./http/deadlines.ts";
import { errorResponse, sendError, toServiceError } from "./http/error-response.ts";
import { parseJsonBody } from "./http/json-body.ts";
import { acceptProxyProtocol } from "./http/proxy-protocol.ts";
import { apiDescriptionRoutes, healthRoutes } from "./routes/server.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { trashRoutes } from "./routes/trash.ts";
import { fileRoutes } from "./routes/files.ts";
import { linkRoutes, secretRoutes } from "./routes/secrets.ts";
import { sharingRoutes } from "./routes/sharing.ts";
import { AskedAddresses } from "./protection/asked-addresses.ts";
import { teamRoutes } from "./routes/teams.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { errors, ServiceError } from "./errors.ts";
import { StoreUnavailableError } from "./store/store.ts";
import { staticFileRoutes } from "./web-app/static-files.ts";

/** Certificate chain and private key, PEM. */
interface ServerTls {
  readonly cert: string;
  readonly key: string;
}

/** Options of the HTTP server. */
export interface HttpServerOptions {
  /** Enables https. */
  readonly tls?: ServerTls;
  /** Port 0 selects a free port. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Public URL of the web application; defaults to the address the server listens on. */
  readonly appUrl?: string;
  /**
   * Host names of requests in lower case, in addition to the host of `appUrl`, IP addresses and
   * localhost (`AllowedHosts`).
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Addresses and networks (CIDR) of proxies whose `x-forwarded-for` is trusted; none by default.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Trusted proxies send a header of the PROXY protocol at the beginning of each connection, and
   * `x-forwarded-for` is ignored.
   */
  readonly proxyProtocol?: boolean;
  /** Directory of the built web application; defaults to `dist/web` of the package. */
  readonly webDirectory?: URL;
}

/** Minimum size of compressed responses (docs/design/vault-contract.md#compression). */
const COMPRESSION_THRESHOLD_BYTES = 1024;
/** Size of a JSON body from which parsing and checking it is long work. */
const LONG_BODY_BYTES = 32 * 1024;
/** Timeout for the headers of a request, in milliseconds. */
const HEADERS_TIMEOUT_MS = 60_000;
/** Interval of the check for requests that exceed a timeout, in milliseconds. */
const TIMEOUT_CHECK_MS = 30_000;

/** Responds with the error body of the protocol to input that is not HTTP. */
function respondToClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? 431
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? 408
        : 400;
  const body = JSON.stringify(errorResponse(errors.malformedHttp()));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nconnection: close\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `x-request-id: ${randomUUID()}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/**
 * Adds the headers of every response, and rejects other hosts, unknown paths and methods before the
 * body is read.
 */
function addTransportRules(
  app: FastifyInstance,
  { listen, appUrl, allowedHosts = [] }: HttpServerOptions,
): void {
  const hosts = new AllowedHosts(listen, [
    ...(appUrl === undefined ? [] : [new URL(appUrl).hostname]),
    ...allowedHosts,
  ]);
  app.addHook("onRequest", async (request, reply) => {
    longWork.noteUse();
    reply.headers({
      "x-request-id": request.id,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    const host = hosts.check(request.raw);
    if (host === "malformed") throw errors.invalidHost();
    if (host === "misdirected") throw errors.misdirectedRequest();
    if (!request.is404) return;
    const url = request.url.split("?", 1).join("");
    const allowed = ["GET", "HEAD", "POST"]
      .filter((method) => app.hasRoute({ method, url }))
      .join(", ");
    if (allowed === "") throw errors.pathNotFound();
    reply.header("allow", allowed);
    throw errors.methodNotAllowed(allowed);
  });
}

/** Ends waits when the server stops, and closes each connection after the response in flight. */
function addGracefulStop(app: FastifyInstance, { waiting }: VaultContext): void {
  let stopping = false;
  app.addHook("preClose", async () => {
    stopping = true;
    waiting.release();
  });
  app.addHook("onSend", async (_request, reply, payload) => {
    if (stopping) reply.header("connection", "close");
    return payload;
  });
}

function addObservation(app: FastifyInstance, { metrics, logger }: VaultContext): void {
  app.decorateRequest("waitedMs");
  app.addHook("onResponse", async (request, reply) => {
    longWork.noteUse();
    const operation = request.routeOptions.config?.operation?.name;
    const fields = {
      requestId: request.id,
      operation,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
    };
    logger.debug(fields, "completed request");
    metrics.requests.inc({ operation: operation ?? "none", status: String(reply.statusCode) });
    metrics.duration.observe(
      { operation: operation ?? "none" },
      (reply.elapsedTime - (request.waitedMs ?? 0)) / 1000,
    );
  });
}

/** An error response, and the network or account that it counts for. */
interface Rejection {
  readonly error: ServiceError;
  readonly party?: string;
}

/**
 * Counts a rejection before authentication as a request of its credentials. Returns its error, or
 * `rate_limited`.
 */
function rejectionBeyondRate(
  context: VaultContext,
  credential: Parameters<typeof countRequest>[1],
  error: ServiceError,
): ServiceError {
  if (error.code === "rate_limited") return error;
  try {
    countRequest(context, credential);
    return error;
  } catch (limited) {
    return limited instanceof ServiceError ? limited : error;
  }
}

/** Returns the response to an account; beyond its rates, later ones are delayed. */
function accountRejection(
  { rejections }: VaultContext,
  request: FastifyRequest,
  account: string,
  error: ServiceError,
): Rejection {
  if (error.code !== "rate_limited") {
    request.trail?.chargeRejection(account, false);
    return { error };
  }
  const party = `account:${account}`;
  request.trail?.chargeRejection(account, rejections.isThrottled(party));
  return { error, party };
}

/**
 * Counts a failed request. Without valid credentials it counts for its network: beyond the rate it
 * leaves no line in the audit log, and the response is `rate_limited`, unless it is 401: a client
 * with an ended token must learn that, even next to strangers in its network.
 */
async function countRejection(
  context: VaultContext,
  request: FastifyRequest,
  error: ServiceError,
): Promise<Rejection> {
  if (request.routeOptions.config.operation === undefined || error.status >= 500) return { error };
  const user = request.user ?? error.user;
  if (user !== undefined) return accountRejection(context, request, user, error);
  const credential = await liveCredential(context, request);
  if (credential) {
    const counted = rejectionBeyondRate(context, credential, error);
    return accountRejection(context, request, credential.email, counted);
  }
  const party = clientNetwork(request.ip);
  const { wait, recorded } = context.unauthenticated.count(party);
  if (!recorded) request.trail?.omit();
  if (wait === 0 || error.status === 401 || error.code === "rate_limited") return { error, party };
  return { error: errors.tooManyFailures(wait * 1000), party };
}

/**
 * Counts the successes of strangers, who may ask for a session or an email: beyond the rate they
 * leave no line in the audit log.
 */
function countUnauthenticated(app: FastifyInstance, { unauthenticated }: VaultContext): void {
  app.addHook("onSend", async (request, reply, payload) => {
    const isOperation = request.routeOptions.config?.operation !== undefined;
    if (
      isOperation &&
      request.user === undefined &&
      reply.statusCode < 400 &&
      !unauthenticated.count(clientNetwork(request.ip)).recorded
    ) {
      request.trail?.omit();
    }
    return payload;
  });
}

function addErrorHandling(app: FastifyInstance, context: VaultContext): void {
  const { logger } = context;
  app.setErrorHandler(async (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { error: response, party } = await countRejection(
      context,
      request,
      toServiceError(error),
    );
    const left = error.code === "ERR_STREAM_PREMATURE_CLOSE" && request.raw.socket.destroyed;
    if (!left && (response.code === "internal" || error instanceof StoreUnavailableError)) {
      logger.error(
        { requestId: request.id, operation: request.routeOptions.config.operation?.name, error },
        "request failed",
      );
    }
    if (error instanceof StoreUnavailableError) await context.space?.release();
    if (response.quota !== undefined)
      context.metrics.quotaRejections.inc({ quota: response.quota });
    if (party !== undefined && (await context.rejections.delay(party, request.raw.socket)))
      reply.header("connection", "close");
    return sendError(reply, response);
  });
}

/** Creates the HTTP server with all routes; it is not listening yet. */
export async function createHttpServer(
  context: VaultContext,
  options: HttpServerOptions,
): Promise<FastifyInstance> {
  const { limits } = context;
  const { tls, trustedProxies = [], proxyProtocol = false } = options;
  const timeouts = {
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_MS, limits.requestTimeoutMs),
    // Node.js would otherwise use the longer one for the whole request.
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, limits.requestTimeoutMs),
  };
  const app: FastifyInstance = fastify({
    ...(tls ? { https: { cert: tls.cert, key: tls.key, ...timeouts } } : { http: timeouts }),
    ...(trustedProxies.length > 0 && !proxyProtocol && { trustProxy: [...trustedProxies] }),
    bodyLimit: limits.jsonBodyBytes,
    genReqId: () => randomUUID(),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestTimeout: limits.requestTimeoutMs,
    clientErrorHandler: respondToClientError,
    frameworkErrors: (_error, request, reply) => {
      reply.headers({ "x-request-id": request.id });
      void sendError(reply, errors.pathNotFound());
    },
  });
  limitConnections(app.server, limits, {
    trustedProxies,
    isThrottled: (network) => context.rejections.isThrottled(network),
  });
  // After all listeners of connections.
  if (proxyProtocol)
    acceptProxyProtocol(app.server, {
      trustedProxies,
      clock: context.clock,
      logger: context.logger,
    });
  app.decorateRequest("user");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: FastifyRequest, body: Buffer) => {
      if (body.length > LONG_BODY_BYTES) await longWork.turn();
      return parseJsonBody(body, limits);
    },
  );
  // Not parsed here: the route streams it.
  app.addContentTypeParser("multipart/form-data", (_request, _payload, done) => done(null));
  addDeadlines(app, context.clock, limits);
  addErrorHandling(app, context);
  countUnauthenticated(app, context);
  addObservation(app, context);
  await app.register(fastifyCompress, {
    threshold: COMPRESSION_THRESHOLD_BYTES,
    globalDecompression: false,
  });
  // Before any rejection and before the audit log: the handling of a rejection reads cookies, and
  // the audit log drops the cookies of a response that it withholds.
  await app.register(fastifyCookie);
  addTransportRules(app, options);
  // With PROXY headers, no other header is expected.
  if (!proxyProtocol) reportUntrustedProxies(app, context);
  addGracefulStop(app, context);
  if (context.audit) auditRequests(app, context.audit, context.auditBudget);
  tokenRoutes(app, context);
  secretRoutes(app, context);
  linkRoutes(app, context);
  const asked = new AskedAddresses(context.clock, context.limits.strangersAskedPerHour);
  sharingRoutes(app, context, asked);
  teamRoutes(app, context, asked);
  fileRoutes(app, context);
  trashRoutes(app, context);
  sessionRoutes(app, context);
  apiDescriptionRoutes(app, context);
  await staticFileRoutes(app, context, options.webDirectory);
  healthRoutes(app, context);
  return app;
}
