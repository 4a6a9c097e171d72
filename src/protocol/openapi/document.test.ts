import * as fc from "fast-check";
import { expect, test } from "vitest";
import { schemaCompiler } from "../../../test/lab/assertions/json-schema.ts";
import type { OperationDefinition } from "../define-operation.ts";
import { errorCodes } from "../error-codes.ts";
import { operationPath, type Operation } from "../operation-paths.ts";
import { operations, type JsonRequestOperation } from "../operations.ts";
import { scopeAttributes, parseScope } from "../scope.ts";
import { openApiDocument } from "./document.ts";

const limits = {
  nameCharacters: 5,
  entriesPerRequest: 2,
  sharesPerRequest: 2,
  jsonBodyBytes: 3 * 1024 * 1024,
  jsonDepth: 17,
  secretValueBytes: 1000,
  metadataBytes: 65_536,
  metadataNames: 100,
  fileBytes: 1024 * 1024,
  filesPerRequest: 7,
  requestsPerSecond: 51,
  requestBurst: 204,
};
const document = openApiDocument("1.2.3", limits);
const compile = await schemaCompiler(document);

const item = (operation: Operation) => document.paths[operationPath[operation]]!.post;
const requestSchema = (operation: Operation) =>
  item(operation).requestBody.content["application/json"]!.schema;

/** Reports whether the document and the server accept a body. */
function judge(
  operation: JsonRequestOperation,
  body: unknown,
): { document: boolean; server: boolean } {
  return {
    document: compile(requestSchema(operation))(body),
    server: operations[operation].request(limits).safeParse(body).success,
  };
}

const accepted = { document: true, server: true };
const rejected = { document: false, server: false };

test("the document contains every operation under its path and nothing else", () => {
  const named = Object.entries(document.paths).map(([path, { post }]) => [post.operationId, path]);
  expect(Object.fromEntries(named)).toEqual(operationPath);
  expect(document.info.version).toBe("1.2.3");
});

test("every reference resolves", () => {
  const references = [
    ...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/([\w-]+)"/gu),
  ];
  expect(references.length).toBeGreaterThan(100);
  const components: Record<string, object> = document.components;
  for (const [, kind = "", name = ""] of references)
    expect([name, Object.hasOwn(components[kind] ?? {}, name)]).toEqual([name, true]);
});

test("the description states the limits of the server", () => {
  const text = document.info.description;
  for (const limit of [
    "3 MiB",
    "17 levels",
    "1000 bytes",
    "1 MiB",
    "7 files",
    "5 characters",
    "51 requests",
    "bursts of 204",
  ]) {
    expect(text).toContain(limit);
  }
  const count = item("protect_file").parameters?.find(({ name }) => name === "CountOfFiles");
  expect(count?.schema).toEqual({ type: "integer", minimum: 1, maximum: 7 });
});

test("every operation documents its error codes, each under its status", () => {
  for (const { name, authentication, errors } of Object.values(operations)) {
    const documented = Object.entries(item(name).responses).flatMap(([status, { description }]) =>
      Number(status) < 400 ? [] : description.split(", ").map((code) => [code, Number(status)]),
    );
    for (const [code, status] of documented)
      expect([code, status]).toEqual([code, errorCodes[code as keyof typeof errorCodes].status]);
    const common = ["invalid_request", "too_large", "unsupported_media_type", "internal"];
    const token =
      authentication === "access-token" ? ["invalid_token", "email_mismatch", "rate_limited"] : [];
    expect(documented.map(([code]) => code)).toEqual(
      expect.arrayContaining([...common, ...token, ...errors]),
    );
  }
});

test("examples conform to the schemas of their request and response", () => {
  const wide = openApiDocument("1.2.3", {
    ...limits,
    nameCharacters: 256,
    entriesPerRequest: 10,
    sharesPerRequest: 10,
  });
  for (const [path, { post }] of Object.entries(wide.paths)) {
    const { request, response }: OperationDefinition["example"] =
      operations[post.operationId as Operation].example;
    const body = post.requestBody.content["application/json"];
    const success = post.responses[200]?.content?.["application/json"];
    expect(body ? compile(body.schema)(request) : "none", path).toEqual(body ? true : "none");
    expect(success ? compile(success.schema)(response) : "none", path).toEqual(
      success ? true : "none",
    );
  }
});

const ann = { email: "ann@example.com" };
const named = { ...ann, key_name: "a" };
const protect = { ...named, key_value: "v" };
const share = { ...named, permission: "R", usr_id_from: ann.email, usr_id_to: "bob@example.com" };

test.each<[JsonRequestOperation, unknown]>([
  ["list_no_dup", ann],
  ["list_no_dup", { email: "𝒜".repeat(320), more: [null] }],
  ["protect", { ...protect, key_name: "𝒜bcde", key_value: "" }],
  [
    "protect",
    {
      ...protect,
      metadata: { custom: { any: [1] }, expiration_time: 0 },
      enviroment_type: "x",
      expiration_time: 5,
    },
  ],
  [
    "protect",
    JSON.parse('{"email":"a@b","key_name":"a","key_value":"v","metadata":{"__proto__":1}}'),
  ],
  ["protect", { ...protect, delete_time: 1 }],
  ["protect", { ...protect, delete_time: "0001000000000000" }],
  ["protect", { ...protect, delete_time: 1_000_000_000_000 }],
  ["protect", { ...protect, delete_time: null }],
  ["delete", { ...ann, key_name: "a" }],
  ["delete", { ...ann, key_name: ["a", "b"] }],
  ["share", share],
  ["share", { ...share, usr_id_to: ["bob@example.com", "eve@example.com"] }],
  ["share", { ...named, permission: "RW", usr_id_from: ann.email, group_id_to: "t" }],
  ["unshare", named],
  ["team_create", { ...ann, group_id: "t" }],
  ["team_create", { ...ann, group_id: "t", members: [] }],
  ["update_key_metadata", { ...named, key_version: 1, cloud_type: "x" }],
  ["update_key_metadata", { ...named, key_version: 1, metadata: {} }],
  ["protect_link", { ...named, key_value: "v", without_list: -1, owner: "x" }],
  ["refresh_token", { refresh_token: "r", used_access_token: "u" }],
  ["download_file", { ...ann, filename: "f", version: 1 }],
])("%s accepts %j, in the document and in the server", (operation, body) => {
  expect(judge(operation, body)).toEqual(accepted);
});

test.each<[JsonRequestOperation, unknown]>([
  ["list_no_dup", []],
  ["list_no_dup", {}],
  ["list_no_dup", { email: "" }],
  ["list_no_dup", { email: "a".repeat(321) }],
  ["protect", named],
  ["protect", { ...protect, key_name: "" }],
  ["protect", { ...protect, key_name: "abcdef" }],
  ["protect", { ...protect, key_name: "a\u0085" }],
  ["protect", { ...protect, key_name: "a\n" }],
  ["protect", { ...protect, key_name: ["a"] }],
  ["protect", { ...protect, key_value: 1 }],
  ["protect", { ...protect, metadata: [] }],
  ["protect", { ...protect, metadata: null }],
  ["protect", { ...protect, metadata: { expiration_time: -1 } }],
  ["protect", { ...protect, metadata: { cloud_type: 1 } }],
  ["protect", { ...protect, expiration_time: 1.5 }],
  ["protect", { ...protect, delete_time: 0 }],
  ["protect", { ...protect, delete_time: "0" }],
  ["protect", { ...protect, delete_time: "1000000000001" }],
  ["protect", { ...protect, delete_time: 1_000_000_000_001 }],
  ["protect", { ...protect, delete_time: "-1" }],
  ["protect", { ...protect, delete_time: "1".padStart(21, "0") }],
  ["delete", { ...ann, key_name: [] }],
  ["delete", { ...ann, key_name: ["a", "b", "c"] }],
  ["delete", { ...ann, key_name: null }],
  ["share", { ...share, group_id_to: "t" }],
  ["share", { ...share, usr_id_to: undefined }],
  ["share", { ...share, usr_id_to: "nobody" }],
  ["share", { ...share, permission: "X" }],
  ["unshare", { ...named, usr_id_to: "b@example.com", group_id_to: "t" }],
  ["update_key_metadata", { ...named, key_version: 1 }],
  ["update_key_metadata", { ...named, key_version: 0, metadata: {} }],
  ["protect_link", { ...named, key_value: "v", without_list: "1" }],
  ["download_file", { ...ann, filename: "f", version: null }],
])("%s rejects %j, in the document and in the server", (operation, body) => {
  // As sent over the wire: without undefined members.
  expect(judge(operation, JSON.parse(JSON.stringify(body)))).toEqual(rejected);
});

const piece = fc.constantFrom("*", "all", "a:b", "%41", "%C3%a4", "%F0%9f%98%80", "ä", "😀");
const odd = fc.oneof(
  fc.constantFrom(
    "",
    "%",
    "%4",
    "%e4",
    "%ED%A0%80",
    "%F4%90%80%80",
    "%C0%80",
    "%E0%80%80",
    "x y",
    "\ufeff",
    "\u2028",
  ),
  fc
    .array(
      fc.constantFrom("%7F", "%80", "%C2", "%BF", "%E0", "%a0", "%Ed", "%9F", "%F1", "%f4", "%8f"),
      { maxLength: 4 },
    )
    .map((all) => all.join("")),
  fc.string({ unit: "grapheme" }),
);
const value = fc.oneof({ weight: 9, arbitrary: piece }, odd);
const complete = fc
  .tuple(...scopeAttributes.map((attribute) => value.map((text) => `${attribute}:${text}`)))
  .map((all) => all.join(","));
const pairs = fc
  .array(
    fc.tuple(fc.constantFrom(...scopeAttributes, "other"), value).map((pair) => pair.join(":")),
  )
  .map((all) => all.join(","));

function isScope(text: string): boolean {
  try {
    return parseScope(text) !== undefined;
  } catch {
    return false;
  }
}

test("the pattern of a scope matches exactly what the server accepts", () => {
  const fits = compile(requestSchema("generate_access_token"));
  let scopes = 0;
  fc.assert(
    fc.property(fc.oneof(complete, pairs, fc.string()), (scope) => {
      if (isScope(scope)) scopes += 1;
      expect(fits({ ...ann, password: "p", expiration_hours: 1, scope }), scope).toEqual(
        isScope(scope),
      );
    }),
    { numRuns: 1000 },
  );
  expect(scopes).toBeGreaterThan(50);
});
