import {
  type OperationDefinition,
  type OperationTag,
  octetStream,
} from "../../src/protocol/define-operation.ts";
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
import { isDeepStrictEqual } from "node:util";

function isSchema(schema: unknown): schema is JsonSchema {
  return typeof schema === "object" && schema !== null && !Array.isArray(schema);
}

/** Returns the bounds as text. Omits the bounds of safe integers. */
function range(minimum: unknown, maximum: unknown): string {
  const from =
    typeof minimum === "number" && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined;
  const to = typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER ? maximum : undefined;
  if (from !== undefined && to !== undefined) return `${from} to ${to}`;
  if (from !== undefined) return `at least ${from}`;
  return to === undefined ? "" : `at most ${to}`;
}

const qualified = (type: string, bounds: string, unit = ""): string =>
  bounds === "" ? type : `${type}, ${bounds}${unit}`;

function stringType({ format, minLength, maxLength }: JsonSchema): string {
  if (format === "email") return "email address";
  if (maxLength === undefined) return minLength === undefined ? "string" : "non-empty string";
  return qualified("string", range(minLength, maxLength), " characters");
}

function unionType(schemas: readonly JsonSchema[]): string {
  const [entry, list] = schemas;
  if (
    schemas.length === 2 &&
    entry &&
    list?.type === "array" &&
    isDeepStrictEqual(list.items, entry)
  ) {
    return qualified(
      `${typeOf(entry)}; or a list`,
      range(list.minItems, list.maxItems),
      " entries",
    );
  }
  const types = schemas.map((schema) =>
    typeof schema.type === "string" ? schema.type : typeOf(schema),
  );
  return [...new Set(types)].join(" or ");
}

/**
 * Returns the type of a JSON Schema as a short Markdown text; named schemas link to their section
 * of the same page.
 */
function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, enum: values, const: only, items, type } = schema;
  if ($ref !== undefined) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf && type === undefined) return unionType(anyOf.filter(isSchema));
  if (values) return values.map((value) => code(String(value))).join(", ");
  if (only !== undefined) return code(String(only));
  switch (type) {
    case "string":
      return stringType(schema);
    case "integer":
    case "number":
      return qualified(type, range(schema.minimum, schema.maximum));
    case "array":
      return `list of ${isSchema(items) ? typeOf(items) : "any value"}`;
    case "boolean":
    case "null":
    case "object":
      return type;
    default:
      return "any value";
  }
}

type Row = readonly [name: string, type: string, required: boolean, description: string];

/** So many members of a response need no table. */
const SHORT_ROWS = 3;

/** Each operation on a secret returns these errors too. */
const secretErrors: readonly string[] = ["secret_not_found", "out_of_scope"];

/** A field that this many operations describe alike is common. */
const COMMON_USES = 2;

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
    const inner = isSchema(schema.items) ? schema.items : schema;
    const hasFields = inner.properties !== undefined && inner.additionalProperties === undefined;
    if (!hasFields || schema.description !== undefined || schema.anyOf !== undefined) {
      const description = plain(schema.description ?? "");
      yield [code(prefix + name), typeOf(schema), required.includes(name), description];
    }
    if (hasFields) yield* rowsOf(inner, `${prefix}${name}${inner === schema ? "." : "[]."}`);
  }
  if (names.some(isStandard)) {
    yield [
      standardNames.map(code).join(", "),
      "as in `metadata`",
      false,
      "Standard metadata names at the top level.",
    ];
  }
}

const keyOf = ([name, type, , description]: Row): string => [name, type, description].join("\n");

/** Returns the fields that several operations describe alike, by their key. */
function commonRows(definitions: readonly OperationDefinition[]): Map<string, Row> {
  const rows = definitions.flatMap(({ request }) =>
    typeof request === "function" ? [...rowsOf(toJsonSchema(request(defaultLimits)))] : [],
  );
  const common = new Map<string, Row>();
  for (const [name, same] of Map.groupBy(rows, ([each]) => each)) {
    const variants = [...Map.groupBy(same, keyOf).values()];
    const [most = []] = variants.toSorted((a, b) => b.length - a.length);
    const [row] = most;
    if (row !== undefined && most.length >= COMMON_USES && name !== code("password"))
      common.set(keyOf(row), row);
  }
  return common;
}

const requestTable = (title: string, rows: readonly Row[]): string =>
  table(
    [title, "Type", "Description"],
    rows.map(([name, type, required, description]) => [
      name,
      required ? `${type}; required` : type,
      description,
    ]),
  );

/**
 * Returns the members of a response. They are always present unless their description says
 * otherwise.
 */
function membersPart(title: string, rows: readonly Row[]): string {
  if (rows.length <= SHORT_ROWS) {
    const short = rows.map(([name, type, , description]) =>
      description === ""
        ? `${name} (${type})`
        : `${name} (${type}; ${description.replace(/\.$/u, "")})`,
    );
    return `${title}: ${short.join(", ")}.`;
  }
  return table(
    [title, "Type", "Description"],
    rows.map(([name, type, , description]) => [name, type, description]),
  );
}

/** Returns JSON on one line, with spaces. */
function inlineJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inlineJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${inlineJson(member)}`,
  );
  return members.length === 0 ? "{}" : `{${members.join(", ")}}`;
}

/** Says which common fields a request has: the required ones, then those that may be omitted. */
function commonFields(rows: readonly Row[]): string[] {
  const named = (isRequired: boolean): string =>
    rows
      .filter(([, , required]) => required === isRequired)
      .map(([name]) => name)
      .join(", ");
  const parts = [
    ["Requires", named(true)],
    ["Accepts", named(false)],
  ].filter(([, names]) => names !== "");
  return parts.length === 0 ? [] : [parts.map(([verb, names]) => `${verb} ${names}.`).join(" ")];
}

function requestPart({ request }: OperationDefinition, common: Map<string, Row>): string[] {
  if (typeof request !== "function") {
    const form = toJsonSchema(request.form);
    return [
      requestTable("Request header", [...rowsOf(toJsonSchema(request.headers(defaultLimits)))]),
      `Request body: \`multipart/form-data\`. ${form.description ?? ""}`,
    ];
  }
  const rows = [...rowsOf(toJsonSchema(request(defaultLimits)))];
  const special = rows.filter((row) => !common.has(keyOf(row)));
  const isNamed = (row: Row): boolean => common.has(keyOf(row)) && row[0] !== code("email");
  return [
    ...commonFields(rows.filter(isNamed)),
    ...(special.length > 0 ? [requestTable("Request field", special)] : []),
  ];
}

function responsePart({ response, etag }: OperationDefinition): string[] {
  if (response === octetStream) {
    return [
      "Response: the bytes as `application/octet-stream`, with the headers `etag`, `content-length` and `x-file-version`.",
    ];
  }
  const schema = toJsonSchema(response);
  const rows = [...rowsOf(schema)];
  const members =
    schema.$ref !== undefined
      ? `Response: ${typeOf(schema)}.`
      : rows.length === 0
        ? "Response: `{}`."
        : membersPart("Response", rows);
  return etag ? [`${members} It has an \`etag\`.`] : [members];
}

/** A request of common fields only needs no example. */
function examplePart({ request, example }: OperationDefinition, common: Map<string, Row>) {
  const isPlain =
    typeof request !== "function" ||
    [...rowsOf(toJsonSchema(request(defaultLimits)))].every((row) => common.has(keyOf(row)));
  return isPlain ? [] : [`Example: ${code(inlineJson(example.request))}`];
}

/**
 * Returns the errors of an operation that the conventions of the page do not state.
 * @throws Error when an operation on a secret lacks one of those
 */
function errorsPart({ name, request, errors }: OperationDefinition): string[] {
  const names =
    typeof request === "function" ? toJsonSchema(request(defaultLimits)).properties : undefined;
  const isOnSecret = names !== undefined && "key_name" in names;
  if (isOnSecret && secretErrors.some((each) => !errors.some((error) => error === each)))
    throw new Error(`${name} does not return ${secretErrors.join(" and ")}, as the page says`);
  const rest = errors.filter((error) => !isOnSecret || !secretErrors.includes(error));
  return rest.length > 0 ? [`Errors: ${rest.map(code).join(", ")}.`] : [];
}

function operationPart(definition: OperationDefinition, common: Map<string, Row>): string {
  const { name, path, summary, description } = definition;
  return [
    `### ${name}`,
    `\`POST ${path}\``,
    `**${summary}.** ${plain(description)}`,
    ...examplePart(definition, common),
    ...requestPart(definition, common),
    ...responsePart(definition),
    ...errorsPart(definition),
  ].join("\n\n");
}

/** Returns the operations of the web application as a table. */
const sessionTable = (): string =>
  table(
    ["Operation", "Effect"],
    Object.values(sessionOperations).map(({ path, summary }) => [code(`POST ${path}`), summary]),
  );

/** Returns a section per record. A record that has all fields of one before names it. */
function recordsPart(): string {
  const before: { readonly name: string; readonly keys: readonly string[] }[] = [];
  const parts = Object.entries(sharedSchemas())
    .filter(([name]) => name !== "Error")
    .map(([name, schema]) => {
      const rows = [...rowsOf(schema)];
      const keys = rows.map(keyOf);
      const base = before.find((each) => each.keys.every((key) => keys.includes(key)));
      if (rows.length > 2) before.push({ name, keys });
      const more = rows.filter((row) => base?.keys.includes(keyOf(row)) !== true);
      return [
        `### ${name}`,
        ...(schema.description === undefined ? [] : [plain(schema.description)]),
        ...(base === undefined
          ? []
          : [`The fields of a [${base.name}](#${base.name.toLowerCase()}), and:`]),
        more.length > 0 ? membersPart("Field", more) : `Type: ${typeOf(schema)}.`,
      ].join("\n\n");
    });
  return parts.join("\n\n");
}

const sectionOf = (tag: OperationTag): string => tag.toLowerCase().replaceAll(" ", "-");

/**
 * Returns the sections of docs/vault-api.md: the common fields, the operations of each tag, and the
 * records they share.
 */
export function vaultApi(): Record<string, string> {
  const definitions: readonly OperationDefinition[] = Object.values(operations);
  const common = commonRows(definitions);
  const byTag = Map.groupBy(definitions, ({ tag }) => sectionOf(tag));
  const sections = [...byTag].map(([section, all]) => [
    section,
    all.map((definition) => operationPart(definition, common)).join("\n\n"),
  ]);
  const fields = [...common.values()].map(([name, type, , description]): Row => [
    name,
    type,
    false,
    description,
  ]);
  return {
    "common-fields": requestTable("Field", fields),
    ...Object.fromEntries(sections),
    "web-application": sessionTable(),
    records: recordsPart(),
  };
}
