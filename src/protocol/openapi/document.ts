import type { OperationTag, RequestLimits } from "../define-operation.ts";
import { operations } from "../operations.ts";
import { sharedSchemas, type JsonSchema } from "./json-schema.ts";
import { operationItem, type OperationItem } from "./operation-item.ts";
import { responseHeaders, type Header } from "./response-headers.ts";

/** Limits that a server's document states; sizes in bytes. */
export interface DocumentLimits extends RequestLimits {
  readonly jsonBodyBytes: number;
  readonly jsonDepth: number;
  readonly secretValueBytes: number;
  readonly metadataBytes: number;
  readonly metadataNames: number;
  readonly fileBytes: number;
  readonly requestsPerSecond: number;
  readonly requestBurst: number;
}

/** An OpenAPI 3.1 document, as far as this service uses it. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, { readonly post: OperationItem }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

/** Description of each group of operations that the document has. */
const tagDescriptions: Readonly<Record<Exclude<OperationTag, "Web application">, string>> = {
  Tokens: "An access token stands for an account, limited by its scope.",
  Secrets:
    "The caller's own secrets, each with versions and metadata. Only the expose operations return values.",
  "Shared secrets":
    "Once a secret is shared, its recipients and its creator read and change it through the _link operations. share, unshare and share_list are the creator's.",
  Teams: "A share with a team applies to its members at the time of a request.",
  Files: "The caller's own files, each with versions. A token's scope does not limit them.",
  Trash:
    "The caller's deleted secrets and files can be restored for some days. Other servers need not have these operations.",
};

function mebibytes(bytes: number): string {
  return bytes % (1024 * 1024) === 0 ? `${bytes / (1024 * 1024)} MiB` : `${bytes} bytes`;
}

function description(limits: DocumentLimits): string {
  return [
    "Every operation is a POST. Where a list is expected, a single string is accepted as a list of one; unknown members of a body are ignored. " +
      "Checks run in this order: path and method, content type and size, JSON and shape, token, rate, email, lookup, scope, permission.",
    `Limits of this server: a JSON body ${mebibytes(limits.jsonBodyBytes)} of UTF-8 and ${limits.jsonDepth} levels deep, a secret value ${mebibytes(limits.secretValueBytes)}, ` +
      `metadata of a version ${limits.metadataBytes / 1024} KiB of JSON and ${limits.metadataNames} names, ` +
      `a file ${mebibytes(limits.fileBytes)}, ${limits.filesPerRequest} files in one request, names ${limits.nameCharacters} characters, ` +
      `${limits.requestsPerSecond} requests a second for each token with bursts of ${limits.requestBurst}.`,
    "The web application sends its session instead of a token; sessions and the operations under /app/ are not part of this document.",
  ].join("\n\n");
}

const securitySchemes = {
  accessToken: {
    type: "apiKey",
    in: "header",
    name: "authorization",
    description: "The bare access token, without a scheme word.",
  },
};

/**
 * Returns the OpenAPI document of a server with this version and these limits, assembled from the
 * operations' definitions.
 */
export function openApiDocument(version: string, limits: DocumentLimits): OpenApiDocument {
  return {
    openapi: "3.1.1",
    info: {
      title: "Vaultsync vault",
      version,
      summary: "Secrets and files with versions, for users, teams and programs.",
      description: description(limits),
    },
    servers: [{ url: "/" }],
    tags: Object.entries(tagDescriptions).map(([name, text]) => ({ name, description: text })),
    paths: Object.fromEntries(
      Object.values(operations).map((definition) => [
        definition.path,
        { post: operationItem(definition, limits) },
      ]),
    ),
    components: { schemas: sharedSchemas(), headers: responseHeaders, securitySchemes },
  };
}
