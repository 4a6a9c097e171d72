import {
  octetStream,
  type OperationDefinition,
  type OperationLink,
  type RequestLimits,
} from "../define-operation.ts";
import { CONSUMER_HEADER } from "../headers.ts";
import { MAX_TAGS, MAX_WAIT_SECONDS } from "../limits.ts";
import { errorCodes, type ErrorCode } from "../error-codes.ts";
import { toJsonSchema, type JsonSchema } from "./json-schema.ts";
import { headerRefs, type HeaderName, type HeaderRef } from "./response-headers.ts";

const commonErrors: readonly ErrorCode[] = [
  "invalid_request",
  "too_large",
  "unsupported_media_type",
  "misdirected_request",
  "internal",
  "unavailable",
];
const accessTokenErrors: readonly ErrorCode[] = ["invalid_token", "email_mismatch", "rate_limited"];

/** Returns every error code that the operation may respond with. */
function errorsOf({ authentication, errors }: OperationDefinition): readonly ErrorCode[] {
  return [
    ...commonErrors,
    ...(authentication === "access-token" ? accessTokenErrors : []),
    ...errors,
  ];
}

interface MediaType {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly encoding?: Readonly<Record<string, object>>;
}

type Content = Readonly<Record<string, MediaType>>;

interface HeaderParameter {
  readonly name: string;
  readonly in: "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

interface Link {
  readonly operationId: string;
  readonly description: string;
  readonly requestBody: OperationLink["request"];
}

interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, HeaderRef>>;
  readonly content?: Content;
  readonly links?: Readonly<Record<string, Link>>;
}

/** One operation in an OpenAPI document. */
export interface OperationItem {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly HeaderParameter[];
  readonly requestBody: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

const ifNoneMatch: HeaderParameter = {
  name: "if-none-match",
  in: "header",
  required: false,
  description: `At most ${MAX_TAGS} etags that the client has; a matching response is not sent again.`,
  schema: { type: "string", pattern: `^[^,]*(,[^,]*){0,${MAX_TAGS - 1}}$` },
};

const prefer: HeaderParameter = {
  name: "prefer",
  in: "header",
  required: false,
  description: `\`wait=N\` with if-none-match: respond when the list changes, after N seconds (at most ${MAX_WAIT_SECONDS}) at the latest.`,
  schema: { type: "string", examples: ["wait=50"] },
};

const consumer: HeaderParameter = {
  name: CONSUMER_HEADER,
  in: "header",
  required: false,
  description:
    "The resource of a cluster that reads the value, `cluster/namespace/Kind/name`, for consumer_list; anything else is ignored.",
  schema: { type: "string", examples: ["prod-eu/shop/VaultSecret/shop-db"] },
};

function headerParameters({ properties = {}, required = [] }: JsonSchema): HeaderParameter[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description = "", ...schema } = typeof property === "object" ? property : {};
    return { name, in: "header", required: required.includes(name), description, schema };
  });
}

function requestOf(
  { request, example }: OperationDefinition,
  limits: RequestLimits,
): [HeaderParameter[], Content] {
  if (typeof request === "function") {
    return [
      [],
      { "application/json": { schema: toJsonSchema(request(limits)), example: example.request } },
    ];
  }
  const encoding = Object.fromEntries(
    Object.keys(request.form.shape).map((name) => [name, { contentType: octetStream }]),
  );
  const form = { schema: toJsonSchema(request.form), encoding };
  return [headerParameters(toJsonSchema(request.headers(limits))), { "multipart/form-data": form }];
}

function successResponses({
  response,
  etag,
  waits,
  example,
  links = [],
}: OperationDefinition): Record<string, Response> {
  const names: HeaderName[] = ["x-request-id"];
  if (etag) names.push("etag");
  if (waits) names.push("preference-applied");
  if (response === octetStream) names.push("x-file-version");
  const headers = headerRefs(names);
  const content: Content =
    response === octetStream
      ? { [octetStream]: { schema: {} } }
      : { "application/json": { schema: toJsonSchema(response), example: example.response } };
  const linked = links.map(({ operation: operationId, description, request }): [string, Link] => [
    operationId,
    { operationId, description, requestBody: request },
  ]);
  const success = {
    description: "Success.",
    headers,
    content,
    ...(links.length > 0 && { links: Object.fromEntries(linked) }),
  };
  return {
    200: success,
    ...(etag && { 304: { description: "The client has it already.", headers } }),
  };
}

function errorResponses(definition: OperationDefinition): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const [status, codes] of Map.groupBy(
    errorsOf(definition),
    (code) => errorCodes[code].status,
  )) {
    const error: JsonSchema = { type: "object", properties: { code: { enum: [...codes] } } };
    const schema: JsonSchema = {
      allOf: [{ $ref: "#/components/schemas/Error" }, { type: "object", properties: { error } }],
    };
    const headers: HeaderName[] =
      status === 429 || status === 503 ? ["x-request-id", "retry-after"] : ["x-request-id"];
    responses[status] = {
      description: codes.join(", "),
      headers: headerRefs(headers),
      content: { "application/json": { schema } },
    };
  }
  return responses;
}

/** Returns the operation as a server with these limits offers it. */
export function operationItem(
  definition: OperationDefinition,
  limits: RequestLimits,
): OperationItem {
  const { name, tag, summary, description, authentication, etag, waits, readsValue } = definition;
  const [headers, content] = requestOf(definition, limits);
  const parameters = [
    ...headers,
    ...(etag ? [ifNoneMatch] : []),
    ...(waits ? [prefer] : []),
    ...(readsValue ? [consumer] : []),
  ];
  return {
    operationId: name,
    tags: [tag],
    summary,
    description,
    security: authentication === "none" ? [] : [{ accessToken: [] }],
    ...(parameters.length > 0 && { parameters }),
    requestBody: { required: true, content },
    responses: { ...successResponses(definition), ...errorResponses(definition) },
  };
}
