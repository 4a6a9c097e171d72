import { InvalidArgumentError } from "commander";
import { expect, test } from "vitest";
import { defaultQuotas } from "../server/limits.ts";
import { parseQuotas } from "./quota-option.ts";

test("parses the named quotas and keeps the default of the others", () => {
  expect(parseQuotas("secrets=10, bytes=1073741824")).toEqual({
    ...defaultQuotas,
    secrets: 10,
    bytes: 1_073_741_824,
  });
});

test.each([
  "",
  "secrets",
  "secrets=",
  "secrets=-1",
  "secrets=many",
  "toString=1",
  "secrets=1,",
  "unknown=1",
])("rejects the quotas %j", (text) => {
  expect(() => parseQuotas(text)).toThrow(InvalidArgumentError);
});
