import { errorStatus, type ErrorCode } from "../error-codes.ts";
import type { Operation } from "../operation-paths.ts";
import { toJsonSchema, type JsonSchema } from "./json-schema.ts";
import type { DocumentLimits } from "./limits.ts";
import { operationAnswers } from "./operation-responses.ts";
import { operationDocs } from "./operation-docs.ts";
import { operationExamples } from "./operation-examples.ts";
import { operationLinks, type OperationLink } from "./operation-links.ts";
import { operationRequests } from "./operation-requests.ts";
import { headerRefs, type HeaderName, type HeaderRef } from "./response-headers.ts";
import { uploadBody, uploadHeaders, type HeaderParameter, type MediaType } from "./upload.ts";

type Content = Readonly<Record<string, MediaType>>;

export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, HeaderRef>>;
  readonly content?: Content;
  readonly links?: Readonly<Record<string, OperationLink>>;
}

/** One operation in an OpenAPI document. */
export interface OperationItem {
  readonly operationId: Operation;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly HeaderParameter[];
  readonly requestBody: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, Response>>;
}

/** Operations whose answer has an etag and may be 304. */
const tagged: ReadonlySet<Operation> = new Set([
  "list_no_dup",
  "version_list",
  "version_list_for_link",
  "team_list",
  "list_file",
  "download_file",
]);

const everyError: readonly ErrorCode[] = ["invalid_request", "too_large", "unsupported_media_type", "internal", "unavailable"];
const tokenErrors: readonly ErrorCode[] = ["invalid_token", "email_mismatch", "rate_limited"];

function needsToken(operation: Operation): boolean {
  return operation !== "generate_access_token" && operation !== "refresh_token";
}

/** Every code an operation may be refused with. */
export function errorsOf(operation: Operation): readonly ErrorCode[] {
  return [...everyError, ...(needsToken(operation) ? tokenErrors : []), ...operationDocs[operation].errors];
}

function errorResponses(operation: Operation): Record<string, Response> {
  const responses: Record<string, Response> = {};
  for (const [status, codes] of Map.groupBy(errorsOf(operation), (code) => errorStatus[code])) {
    const error: JsonSchema = { type: "object", properties: { code: { enum: [...codes] } } };
    const schema: JsonSchema = { allOf: [{ $ref: "#/components/schemas/Error" }, { type: "object", properties: { error } }] };
    const headers: HeaderName[] = status === 429 || status === 503 ? ["x-request-id", "retry-after"] : ["x-request-id"];
    responses[status] = {
      description: codes.join(", "),
      headers: headerRefs(headers),
      content: { "application/json": { schema } },
    };
  }
  return responses;
}

function successContent(operation: Operation): Content {
  if (operation === "download_file") return { "application/octet-stream": { schema: {} } };
  const { answer } = operationExamples[operation];
  return { "application/json": { schema: toJsonSchema(operationAnswers[operation]), ...(answer && { example: answer }) } };
}

function successResponses(operation: Operation): Record<string, Response> {
  const headers: HeaderName[] = ["x-request-id", ...(tagged.has(operation) ? (["etag"] as const) : [])];
  if (operation === "download_file") headers.push("x-file-version");
  const links = operationLinks[operation];
  const success = {
    description: "Done.",
    headers: headerRefs(headers),
    content: successContent(operation),
    ...(links && { links }),
  };
  if (!tagged.has(operation)) return { 200: success };
  return { 200: success, 304: { description: "The client has it already.", headers: headerRefs(headers) } };
}

const ifNoneMatch: HeaderParameter = {
  name: "if-none-match",
  in: "header",
  required: false,
  description: "Etags of what the client has; it is not sent again.",
  schema: { type: "string" },
};

function requestContent(operation: Operation, limits: DocumentLimits): Content {
  if (operation === "protect_file") return { "multipart/form-data": uploadBody };
  const schema = toJsonSchema(operationRequests(limits)[operation]);
  const { request } = operationExamples[operation];
  return { "application/json": { schema, ...(request && { example: request }) } };
}

/** An operation as a server of these limits offers it. */
export function operationItem(operation: Operation, limits: DocumentLimits): OperationItem {
  const { tag, summary, description } = operationDocs[operation];
  const parameters = [
    ...(operation === "protect_file" ? uploadHeaders(limits) : []),
    ...(tagged.has(operation) ? [ifNoneMatch] : []),
  ];
  return {
    operationId: operation,
    tags: [tag],
    summary,
    description,
    security: needsToken(operation) ? [{ accessToken: [] }] : [],
    ...(parameters.length > 0 && { parameters }),
    requestBody: { required: true, content: requestContent(operation, limits) },
    responses: { ...successResponses(operation), ...errorResponses(operation) },
  };
}
