import type { JsonSchema } from "./json-schema.ts";

export interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** Headers of answers beside those HTTP itself gives them. Source: the vault contract, "Transport" and "Files". */
export const responseHeaders = {
  "x-request-id": {
    description: "Names this request in the server's log.",
    required: true,
    schema: { type: "string", format: "uuid" },
  },
  etag: { description: "Of what is answered; send it as if-none-match.", required: true, schema: { type: "string" } },
  "retry-after": { description: "Seconds to wait.", required: true, schema: { type: "integer", minimum: 1 } },
  "x-file-version": { description: "The version that is answered.", required: true, schema: { type: "integer", minimum: 1 } },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof responseHeaders;

export interface HeaderRef {
  readonly $ref: string;
}

/** Those headers as a response points at them. */
export function headerRefs(names: readonly HeaderName[]): Record<string, HeaderRef> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
