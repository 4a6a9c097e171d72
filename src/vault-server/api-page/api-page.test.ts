import { expect, test } from "vitest";
import { openApiDocument } from "../../protocol/openapi/document.ts";
import type { JsonSchema } from "../../protocol/openapi/json-schema.ts";
import type { OperationItem } from "../../protocol/openapi/operation-item.ts";
import { defaultLimits } from "../limits.ts";
import { apiPage } from "./api-page.ts";

test("what the document says is shown as text, wherever it stands", () => {
  const hostile = `<img src=x onerror="a"> & '`;
  const document = openApiDocument(hostile, defaultLimits);
  const [[path, { post }] = ["", { post: undefined }]] = Object.entries(document.paths);
  if (!post) throw new Error("no operation");
  const schema: JsonSchema = { type: "object", properties: { [hostile]: { enum: [hostile], description: hostile } } };
  const changed: OperationItem = {
    ...post,
    summary: hostile,
    description: hostile,
    requestBody: { required: true, content: { [hostile]: { schema, example: { [hostile]: hostile } } } },
  };
  const page = apiPage({ ...document, paths: { [path + hostile]: { post: changed } } }, hostile);
  expect(page).not.toMatch(/<img/u);
  expect(page.match(/&lt;img src=x/gu)?.length).toBeGreaterThan(10);
});

test("fields are told in words, what must be there first", () => {
  const page = apiPage(openApiDocument("1.0.0", defaultLimits), "/api.css");
  const protect = page.slice(page.indexOf('id="protect"'), page.indexOf('id="list_no_dup"'));
  expect(protect).toContain("text, 1 to 256 characters");
  expect(protect).toContain("integer 1 to 1000000000000 or text, up to 20 characters or null");
  expect(protect.indexOf("<code>key_value</code>")).toBeLessThan(protect.indexOf("<code>cloud_type</code>"));
  expect(protect).toContain('<a href="#SecretRecord">SecretRecord</a>');
  expect(page).toContain("e-mail address, or a list of 1 to 10000 such");
  expect(page).toContain("<code>R</code>, <code>W</code>, <code>RW</code>");
  expect(page).not.toContain("9007199254740991");
});
