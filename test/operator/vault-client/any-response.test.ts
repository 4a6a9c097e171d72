import * as fc from "fast-check";
import { test } from "vitest";
import { secretRecord } from "../../lab/vault/secret-record.ts";
import { UnexpectedResponse } from "../../../src/operator/vault-client/vault-error.ts";
import { parseJson } from "../../../src/operator/vault-client/http/parse-json.ts";
import { responseError } from "../../../src/operator/vault-client/http/response-error.ts";
import { readFiles, readSecrets } from "../../../src/operator/vault-client/readers/read-lists.ts";
import { readToken } from "../../../src/operator/vault-client/readers/read-token.ts";
import { readValue } from "../../../src/operator/vault-client/readers/read-value.ts";

/** Field names of responses; the property puts arbitrary JSON under them. */
const names = [
  "secrets",
  "files",
  "data",
  "key_name",
  "key_version",
  "key_value",
  "version",
  "versions",
  "size",
  "owner",
  "metadata",
  "error",
  "code",
];
const { response } = fc.letrec<{ response: unknown }>((tie) => ({
  response: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie("response"), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), tie("response"), {
      maxKeys: 5,
    }),
  ),
}));
const record = secretRecord({ name: "a", owner: "a" });

function orUnexpected(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof UnexpectedResponse)) throw error;
  }
}

// oxlint-disable-next-line vitest/expect-expect -- the property is that nothing else is thrown
test("every response is parsed or throws UnexpectedResponse", () => {
  fc.assert(
    fc.property(response, (root) => {
      orUnexpected(() => readSecrets(root));
      orUnexpected(() => readFiles(root));
      orUnexpected(() => readValue("expose", root, record, 1));
      orUnexpected(() => readToken("refresh_token", root));
    }),
    { numRuns: 2_000 },
  );
});

// oxlint-disable-next-line vitest/expect-expect -- the property is that nothing is thrown
test("every body and status maps to an error class", () => {
  const bytes = fc.oneof(
    fc.uint8Array(),
    response.map((root) => Buffer.from(JSON.stringify(root) ?? "")),
  );
  fc.assert(
    fc.property(bytes, fc.integer({ min: 300, max: 599 }), fc.string(), (body, status, wait) => {
      parseJson(body);
      responseError("list_no_dup", { status, body, header: () => wait }, 0);
    }),
    { numRuns: 1_000 },
  );
});
