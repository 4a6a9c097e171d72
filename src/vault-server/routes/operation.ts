import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { z } from "zod";
import { operationPath, sessionOperationPath, type Operation, type ServedOperation } from "../../protocol/operation-paths.ts";
import { authenticate, type Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

const servedPath: Record<ServedOperation, string> = { ...operationPath, ...sessionOperationPath };

export interface Call<Body> {
  readonly body: Body;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** An answer is an object, sent as JSON, or the reply when it was sent already. */
type Answer<Body, C extends Call<Body>> = (call: C) => Promise<object>;

function mediaType(request: FastifyRequest): string {
  return (request.headers["content-type"] ?? "").split(";", 1).join("").trim().toLowerCase();
}

/** Refuses a body of another kind before anything of it is read. @throws ServiceError `unsupported_media_type` */
export function requireMediaType(expected: string): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const encoding = request.headers["content-encoding"] ?? "identity";
    if (mediaType(request) !== expected || encoding !== "identity") {
      throw errors.unsupportedMediaType(expected);
    }
  };
}

/** @throws ServiceError `invalid_request` with a path and a reason for each thing that does not fit */
function parseBody<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const details = parsed.error.issues.map((issue) => ({ path: issue.path.join("."), reason: issue.message }));
  throw errors.invalidBody(details);
}

/** An operation that needs no access token, or looks after who calls it itself. */
export function openOperation<S extends z.ZodType>(
  app: FastifyInstance,
  operation: ServedOperation,
  schema: S,
  answer: Answer<z.output<S>, Call<z.output<S>>>,
  route: { readonly compress?: false } = {},
): void {
  app.route({
    ...route,
    method: "POST",
    url: servedPath[operation],
    config: { operation },
    onRequest: requireMediaType("application/json"),
    handler: async (request, reply) => {
      const body = parseBody(schema, request.body);
      await request.trail?.begin("parsed");
      return answer({ body, request, reply });
    },
  });
}

export interface AuthenticatedCall<Body> extends Call<Body> {
  readonly caller: Caller;
}

export interface OperationOptions<Body> {
  /** A further check of the body, before the token's. */
  readonly check?: (body: Body) => void;
  /** `false`: the answer's bytes are sent as they are, whatever encoding was asked for. */
  readonly compress?: false;
}

/**
 * An operation behind an access token or a session; checks in the contract's order: content type, size, JSON, shape, token, e-mail address.
 */
export function authenticatedOperation<S extends z.ZodType<{ email: string }>>(
  app: FastifyInstance,
  context: VaultContext,
  operation: Operation,
  schema: S,
  answer: Answer<z.output<S>, AuthenticatedCall<z.output<S>>>,
  { check, ...route }: OperationOptions<z.output<S>> = {},
): void {
  const answerChecked = async ({ body, request, reply }: Call<z.output<S>>): Promise<object> => {
    check?.(body);
    const caller = await authenticate(context, request, body.email);
    request.trail?.identify(caller.email);
    await request.trail?.begin("authenticated");
    return answer({ body, caller, request, reply });
  };
  openOperation(app, operation, schema, answerChecked, route);
}
