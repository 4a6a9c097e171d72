import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import type { OperationDefinition, RequestLimits } from "../../protocol/define-operation.ts";
import { authenticate, type Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
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
type ResponseBody<R extends ResponseSchema> = (R extends z.ZodType ? z.input<R> : never) | FastifyReply;

interface OperationRequest<Body> {
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface AuthenticatedRequest<Body> extends OperationRequest<Body> {
  readonly caller: Caller;
}

function mediaType(request: FastifyRequest): string {
  return (request.headers["content-type"] ?? "").split(";", 1).join("").trim().toLowerCase();
}

/** Rejects other content types and compressed bodies before reading them. @throws ServiceError `unsupported_media_type` */
export function requireMediaType(expected: string): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const encoding = request.headers["content-encoding"] ?? "identity";
    if (mediaType(request) !== expected || encoding !== "identity") {
      throw errors.unsupportedMediaType(expected);
    }
  };
}

/** @throws ServiceError `invalid_request` with path and reason of each issue */
function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ path: issue.path.join("."), reason: issue.message }));
  throw errors.invalidBody(details);
}

/**
 * Returns the compression of an operation's route. The length of a compressed response reveals a value next to text that another user
 * chose, so that only lists are compressed.
 */
export function compressionOf({ compressible }: OperationDefinition): { readonly compress?: false } {
  return compressible === true ? {} : { compress: false };
}

/** Adds the route of an operation that needs no access token or that authenticates the caller itself. */
export function openOperation<S extends z.ZodType, R extends ResponseSchema>(
  app: FastifyInstance,
  { limits }: VaultContext,
  operation: JsonOperation<S, R>,
  respond: (request: OperationRequest<z.output<S>>) => Promise<ResponseBody<R>>,
): void {
  const schema = operation.request(limits);
  app.route({
    ...compressionOf(operation),
    method: "POST",
    url: operation.path,
    config: { operation },
    onRequest: requireMediaType("application/json"),
    handler: async (request, reply) => {
      const body = parseBody(schema, request.body);
      await request.trail?.begin("parsed");
      return respond({ body, request, reply });
    },
  });
}

export interface OperationOptions<Body> {
  /** Checks the body further, before the token. */
  readonly check?: (body: Body) => void;
}

/**
 * Adds the route of an operation that needs an access token or a session. Checks run in the order of
 * docs/design/vault-contract.md#transport: content type, size, JSON, shape, token, email address.
 */
export function authenticatedOperation<S extends z.ZodType<{ email: string }>, R extends ResponseSchema>(
  app: FastifyInstance,
  context: VaultContext,
  operation: JsonOperation<S, R>,
  respond: (request: AuthenticatedRequest<z.output<S>>) => Promise<ResponseBody<R>>,
  { check }: OperationOptions<z.output<S>> = {},
): void {
  const respondToCaller = async ({ body, request, reply }: OperationRequest<z.output<S>>): Promise<ResponseBody<R>> => {
    check?.(body);
    const caller = await authenticate(context, request, body.email);
    request.trail?.identify(caller.email);
    await request.trail?.begin("authenticated");
    return respond({ body, caller, request, reply });
  };
  openOperation(app, context, operation, respondToCaller);
}
