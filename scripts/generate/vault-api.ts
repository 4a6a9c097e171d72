import type { OperationDefinition, OperationTag } from "../../src/protocol/define-operation.ts";
import { octetStream } from "../../src/protocol/define-operation.ts";
import { standardMetadataFields } from "../../src/protocol/metadata.ts";
import {
  sharedSchemas,
  toJsonSchema,
  type JsonSchema,
} from "../../src/protocol/openapi/json-schema.ts";
import { operations } from "../../src/protocol/operations.ts";
import { sessionOperations } from "../../src/protocol/session-operations.ts";
import { defaultLimits } from "../../src/vault/server/limits.ts";
import { code, plain, table } from "./markdown.ts";
import { isSchema, typeOf } from "./schema-type.ts";

type Row = readonly [name: string, type: string, required: string, description: string];

/** Width of the examples. */
const EXAMPLE_COLUMNS = 110;

/**
 * Names that a request accepts in `metadata` and at the top level alike; one row stands for all.
 */
const standardNames = Object.keys(standardMetadataFields);

/** Yields a row per field and per field of inline objects; required fields come first. */
function* rowsOf({ properties = {}, required = [] }: JsonSchema, prefix = ""): Generator<Row> {
  const names = Object.keys(properties);
  const isStandard = (name: string): boolean =>
    prefix === "" && standardNames.includes(name) && !required.includes(name);
  const sorted = names.toSorted(
    (a, b) => Number(required.includes(b)) - Number(required.includes(a)),
  );
  for (const name of sorted) {
    const schema = properties[name];
    if (!isSchema(schema) || isStandard(name)) continue;
    yield [
      code(prefix + name),
      typeOf(schema),
      required.includes(name) ? "yes" : "",
      plain(schema.description ?? ""),
    ];
    const inner = isSchema(schema.items) ? schema.items : schema;
    if (inner.properties && inner.additionalProperties === undefined) {
      yield* rowsOf(inner, `${prefix}${name}${inner === schema ? "." : "[]."}`);
    }
  }
  if (names.some(isStandard)) {
    yield [
      standardNames.map(code).join(", "),
      "as in `metadata`",
      "",
      "Standard metadata names at the top level.",
    ];
  }
}

function fieldTable(title: string, schema: JsonSchema): string[] {
  const rows = [...rowsOf(schema)];
  return rows.length === 0 ? [] : [table([title, "Type", "Required", "Description"], rows)];
}

/** Response fields are always present unless their description says otherwise. */
function memberTable(title: string, schema: JsonSchema): string[] {
  const rows = [...rowsOf(schema)].map(([name, type, , description]) => [name, type, description]);
  return rows.length === 0 ? [] : [table([title, "Type", "Description"], rows)];
}

/** Returns JSON on one line, with spaces. */
function inlineJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inlineJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${inlineJson(member)}`,
  );
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** Returns JSON with objects and lists on one line where they fit. */
function compactJson(value: unknown, indent = ""): string {
  const line = inlineJson(value);
  if (line.length <= EXAMPLE_COLUMNS - indent.length || typeof value !== "object" || value === null)
    return line;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const members = Object.entries(value).map(([name, member]) => {
    const text = compactJson(member, inner);
    return inner + (Array.isArray(value) ? text : `${JSON.stringify(name)}: ${text}`);
  });
  return `${open}\n${members.join(",\n")}\n${indent}${close}`;
}

function requestPart({ request }: OperationDefinition): string[] {
  if (typeof request === "function") {
    const fields = fieldTable("Request field", toJsonSchema(request(defaultLimits)));
    return fields.length > 0 ? fields : ["Request: `{}`."];
  }
  const form = toJsonSchema(request.form);
  return [
    ...fieldTable("Request header", toJsonSchema(request.headers(defaultLimits))),
    `Request body: \`multipart/form-data\`. ${form.description ?? ""}`,
  ];
}

function responsePart({ response, etag }: OperationDefinition): string[] {
  if (response === octetStream) {
    return [
      "Response: the bytes as `application/octet-stream`, with the headers `etag`, `content-length` and `x-file-version`.",
    ];
  }
  const tag = etag ? " The response has an `etag`." : "";
  const schema = toJsonSchema(response);
  if (schema.$ref !== undefined) return [`Response: ${typeOf(schema)}.${tag}`];
  const members = memberTable("Response field", schema);
  if (members.length === 0) return ["Response: `{}`."];
  return tag === "" ? members : [...members, tag.trim()];
}

const jsonBlock = (value: object): string => `\`\`\`json\n${compactJson(value)}\n\`\`\``;

function examplePart({ example: { request, response } }: OperationDefinition): string[] {
  const blocks = [
    request && `Request:\n\n${jsonBlock(request)}`,
    response && `Response:\n\n${jsonBlock(response)}`,
  ].filter(Boolean);
  return ["<details><summary>Example</summary>", ...blocks.map(String), "</details>"];
}

function operationPart(definition: OperationDefinition): string {
  const { name, path, summary, description, errors } = definition;
  return [
    `### ${name}`,
    `\`POST ${path}\``,
    `**${summary}.** ${plain(description)}`,
    ...requestPart(definition),
    ...responsePart(definition),
    ...(errors.length > 0 ? [`Errors: ${errors.map(code).join(", ")}.`] : []),
    ...examplePart(definition),
  ].join("\n\n");
}

function recordsPart(): string {
  return Object.entries(sharedSchemas())
    .filter(([name]) => name !== "Error")
    .map(([name, schema]) => {
      const members = memberTable("Field", schema);
      const text = schema.description === undefined ? [] : [plain(schema.description)];
      return [
        `### ${name}`,
        ...text,
        ...(members.length > 0 ? members : [`Type: ${typeOf(schema)}.`]),
      ].join("\n\n");
    })
    .join("\n\n");
}

const sectionOf = (tag: OperationTag): string => tag.toLowerCase().replaceAll(" ", "-");

/**
 * Returns the sections of docs/vault-api.md: the operations of each tag and the records they share.
 */
export function vaultApi(): Record<string, string> {
  const definitions: readonly OperationDefinition[] = [
    ...Object.values(operations),
    ...Object.values(sessionOperations),
  ];
  const byTag = Map.groupBy(definitions, ({ tag }) => sectionOf(tag));
  const sections = [...byTag].map(([section, all]) => [
    section,
    all.map(operationPart).join("\n\n"),
  ]);
  return { ...Object.fromEntries(sections), records: recordsPart() };
}
