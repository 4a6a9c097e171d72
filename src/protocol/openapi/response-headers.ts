import type { JsonSchema } from "./json-schema.ts";

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** Response headers in addition to the headers of HTTP itself. */
export const responseHeaders = {
  "x-request-id": {
    description: "Identifies this request in the server's log.",
    required: true,
    schema: { type: "string", format: "uuid" },
  },
  etag: {
    description: "Tag of the response; send it as if-none-match.",
    required: true,
    schema: { type: "string" },
  },
  "preference-applied": {
    description: "`wait` when the request waited for a change, or would have.",
    required: false,
    schema: { const: "wait" },
  },
  "retry-after": {
    description: "Seconds to wait.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
  "x-file-version": {
    description: "The version of the file.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof responseHeaders;

export interface HeaderRef {
  readonly $ref: string;
}

/** Returns references to those headers. */
export function headerRefs(names: readonly HeaderName[]): Record<string, HeaderRef> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
