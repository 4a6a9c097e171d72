import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { z } from "zod";
import type { OperationDefinition, RequestLimits } from "../../../protocol/define-operation.ts";
import { clientNetwork } from "../http/client-network.ts";
import { authenticate, liveCredential, type Caller } from "../accounts/authenticate.ts";
import { chargeChanges, countLargeBody } from "../protection/token-buckets.ts";
import type { VaultContext } from "../context.ts";
import { identify } from "../http/identify.ts";
import { errors } from "../errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Names the operation in logs and metrics, and says what the audit log records. */
    operation?: OperationDefinition;
  }
}

type ResponseSchema = OperationDefinition["response"];

/** An operation with a JSON body of schema `S`. */
interface JsonOperation<S extends z.ZodType, R extends ResponseSchema> extends OperationDefinition {
  readonly request: (limits: RequestLimits) => S;
  readonly response: R;
}

/** The response body, or the reply when the route has sent it already. */
type ResponseBody<R extends ResponseSchema> =
  | (R extends z.ZodType ? z.input<R> : never)
  | FastifyReply;

interface OperationRequest<Body> {
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface AuthenticatedRequest<Body> extends OperationRequest<Body> {
  readonly caller: Caller;
}

export function mediaType(request: FastifyRequest): string {
  return (request.headers["content-type"] ?? "").split(";", 1).join("").trim().toLowerCase();
}

/**
 * Rejects other content types and compressed bodies before reading them. @throws ServiceError
 * `unsupported_media_type`
 */
export function requireMediaType(expected: string): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const encoding = request.headers["content-encoding"] ?? "identity";
    if (mediaType(request) !== expected || encoding !== "identity") {
      throw errors.unsupportedMediaType(expected);
    }
  };
}

/** @throws ServiceError `invalid_request` with path and reason of each issue */
export function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({
    path: issue.path.join("."),
    reason: issue.message,
  }));
  throw errors.invalidBody(details);
}

/**
 * Returns the compression of an operation's route. Only lists are compressed: the length of a
 * compressed response reveals a value next to text that another user chose.
 */
export function compressionOf({ compressible }: OperationDefinition): {
  readonly compress?: false;
} {
  return compressible === true ? {} : { compress: false };
}

/**
 * Adds the route of an operation that needs no access token or that authenticates the caller
 * itself.
 */
export function openOperation<S extends z.ZodType, R extends ResponseSchema>(
  app: FastifyInstance,
  context: VaultContext,
  operation: JsonOperation<S, R>,
  respond: (request: OperationRequest<z.output<S>>) => Promise<ResponseBody<R>>,
): void {
  addRoute(app, context, operation, respond, {
    bodyLimit: context.limits.unauthenticatedBodyBytes,
    onRequest: requireMediaType("application/json"),
  });
}

function addRoute<S extends z.ZodType, R extends ResponseSchema>(
  app: FastifyInstance,
  { limits }: VaultContext,
  operation: JsonOperation<S, R>,
  respond: (request: OperationRequest<z.output<S>>) => Promise<ResponseBody<R>>,
  options: Pick<RouteOptions, "bodyLimit" | "compress" | "onRequest">,
): void {
  const schema = operation.request(limits);
  app.route({
    ...compressionOf(operation),
    ...options,
    method: "POST",
    url: operation.path,
    config: { operation },
    handler: (request, reply) => respond({ body: parseBody(schema, request.body), request, reply }),
  });
}

/**
 * Rejects a request without valid credentials by its headers when its network keeps sending such
 * requests.
 * @throws ServiceError `invalid_token`
 */
export function rejectThrottledNetwork(
  context: VaultContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  return async (request, reply) => {
    if (
      !context.rejections.isThrottled(clientNetwork(request.ip)) ||
      (await liveCredential(context, request))
    )
      return;
    // The body is not read.
    reply.header("connection", "close");
    throw errors.invalidAccessToken();
  };
}

/**
 * Requires valid credentials before a larger body, or one of unknown size, is read, and counts it,
 * because one that is rejected costs time as well.
 * @throws ServiceError `invalid_token`, `rate_limited`
 */
function requireCredentialsForLargeBody(
  context: VaultContext,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const { unauthenticatedBodyBytes, jsonBodyBytes } = context.limits;
  return async (request, reply) => {
    const bytes = Number(request.headers["content-length"] ?? Infinity);
    if (bytes <= unauthenticatedBodyBytes) return;
    const credential = await liveCredential(context, request);
    try {
      if (!credential) throw errors.invalidAccessToken();
      countLargeBody(context, credential, Math.min(bytes, jsonBodyBytes));
    } catch (error) {
      // The body is not read.
      reply.header("connection", "close");
      throw error;
    }
  };
}

/**
 * Returns the number of changes that a body asks for: each combination of the entries of its lists.
 */
function changesIn(body: object): number {
  return Object.values(body).reduce<number>(
    (changes, value) => changes * (Array.isArray(value) ? Math.max(1, value.length) : 1),
    1,
  );
}

export interface OperationOptions<Body> {
  /** Checks the body further, before the token. */
  readonly check?: (body: Body) => void;
  /** The responses are compressed already. */
  readonly compresses?: boolean;
}

/**
 * Adds the route of an operation that needs an access token or a session. Checks run in the order
 * of docs/design/vault-contract.md#transport: content type, size, JSON, shape, token, email
 * address.
 */
export function authenticatedOperation<
  S extends z.ZodType<{ email: string }>,
  R extends ResponseSchema,
>(
  app: FastifyInstance,
  context: VaultContext,
  operation: JsonOperation<S, R>,
  respond: (request: AuthenticatedRequest<z.output<S>>) => Promise<ResponseBody<R>>,
  { check, compresses = false }: OperationOptions<z.output<S>> = {},
): void {
  const respondToCaller = async ({
    body,
    request,
    reply,
  }: OperationRequest<z.output<S>>): Promise<ResponseBody<R>> => {
    check?.(body);
    const caller = await authenticate(context, request, body.email);
    identify(request, caller.email);
    await context.turns.next(caller.email);
    if (operation.addsData === true)
      await context.space?.check(Number(request.headers["content-length"] ?? 0));
    chargeChanges(context, caller, changesIn(body));
    await request.trail?.begin();
    return respond({ body, caller, request, reply });
  };
  addRoute(app, context, operation, respondToCaller, {
    ...(compresses && { compress: false as const }),
    onRequest: [
      requireMediaType("application/json"),
      rejectThrottledNetwork(context),
      requireCredentialsForLargeBody(context),
    ],
  });
}
