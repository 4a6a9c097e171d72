import { operationPath, type Operation } from "../operation-paths.ts";
import { sharedSchemas, type JsonSchema } from "./json-schema.ts";
import type { DocumentLimits } from "./limits.ts";
import { operationDocs } from "./operation-docs.ts";
import { operationItem, type OperationItem } from "./operation-item.ts";
import { responseHeaders, type Header } from "./response-headers.ts";

/** An OpenAPI 3.1 document, as far as this service uses it. */
export interface OpenApiDocument {
  readonly openapi: "3.1.1";
  readonly info: { readonly title: string; readonly version: string; readonly summary: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, { readonly post: OperationItem }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

const tags = [
  { name: "Tokens", description: "An access token is the reach of an account, or of a part of it." },
  {
    name: "Secrets",
    description: "One's own secrets, each with versions and metadata. A value is answered by the expose operations only.",
  },
  { name: "Shared secrets", description: "Once shared, a secret is read and changed through these, by its creator too." },
  { name: "Teams", description: "A share with a team reaches whoever is a member at the time of a call." },
  { name: "Files", description: "One's own files, each with versions. A token's scope does not limit them." },
];

function mebibytes(bytes: number): string {
  return bytes % (1024 * 1024) === 0 ? `${bytes / (1024 * 1024)} MiB` : `${bytes} bytes`;
}

function description(limits: DocumentLimits): string {
  return [
    "Every operation is a POST. Wherever a list is taken, a single string stands for a list of one; members of a body that are not named here are ignored. " +
      "Checks come in this order: path and method, content type and size, JSON and shape, token, rate, email, look-up, scope, permission.",
    `Limits of this server: a JSON body ${mebibytes(limits.jsonBodyBytes)} of UTF-8 and ${limits.jsonDepth} levels deep, a secret value ${mebibytes(limits.secretValueBytes)}, ` +
      `a file ${mebibytes(limits.fileBytes)}, ${limits.filesPerRequest} files in one request, names ${limits.nameCharacters} characters, ` +
      `${limits.requestsPerSecond} requests a second for each token with bursts of ${limits.requestBurst}.`,
    "The web application sends its session instead of a token; that, and its own operations under /app/, are no part of this interface.",
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

function isOperation(name: string): name is Operation {
  return name in operationPath;
}

/**
 * The service's interface as a server of these limits and this version offers it. Source: issue 4; the fields come from the schemas that
 * requests are read with and that answers are tested against.
 */
export function openApiDocument(version: string, limits: DocumentLimits): OpenApiDocument {
  const operations = Object.keys(operationDocs).filter(isOperation);
  return {
    openapi: "3.1.1",
    info: {
      title: "Vaultsync vault",
      version,
      summary: "Secrets and files with versions, for people, teams and programs.",
      description: description(limits),
    },
    servers: [{ url: "/" }],
    tags,
    paths: Object.fromEntries(
      operations.map((operation) => [operationPath[operation], { post: operationItem(operation, limits) }]),
    ),
    components: { schemas: sharedSchemas(), headers: responseHeaders, securitySchemes },
  };
}
