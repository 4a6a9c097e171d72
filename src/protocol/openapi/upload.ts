import type { JsonSchema } from "./json-schema.ts";
import type { DocumentLimits } from "./limits.ts";

export interface MediaType {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly encoding?: Readonly<Record<string, object>>;
}

export interface HeaderParameter {
  readonly name: string;
  readonly in: "header";
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** What `protect_file` takes as headers instead of body fields. Source: the interface, "Files". */
export function uploadHeaders({ filesPerRequest }: DocumentLimits): readonly HeaderParameter[] {
  return [
    {
      name: "email",
      in: "header",
      required: true,
      description: "The caller's own address, in any case.",
      schema: { type: "string", minLength: 1 },
    },
    {
      name: "CountOfFiles",
      in: "header",
      required: true,
      description: "How many files the body holds.",
      schema: { type: "integer", minimum: 1, maximum: filesPerRequest },
    },
  ];
}

/** The multipart body of `protect_file`. */
export const uploadBody: MediaType = {
  schema: {
    type: "object",
    properties: {
      file: {
        type: "string",
        contentMediaType: "application/octet-stream",
        description: "A file; its part's own filename counts.",
      },
    },
    required: ["file"],
    description: "Each part with a filename is a file, whatever its field is called; other parts are ignored.",
  },
  encoding: { file: { contentType: "application/octet-stream" } },
};
