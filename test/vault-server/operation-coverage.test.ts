import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { errorCodes } from "../../src/protocol/error-codes.ts";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";

/**
 * Tests that iterate over all operations or only list them. They prove nothing about one operation.
 */
const notCounted = ["operation-coverage.test.ts", "api-description.test.ts"];

/** Source text of every test of a running vault server, by path. */
const sources = new Map<string, string>();
for (const folder of ["../vault-server/", "../contract/"]) {
  const directory = new URL(folder, import.meta.url);
  for (const name of await readdir(directory)) {
    if (name.endsWith(".test.ts") && !notCounted.includes(name))
      sources.set(folder + name, await readFile(new URL(name, directory), "utf8"));
  }
}

/** Helpers of the test client that send one operation without naming it. */
const helpers: Readonly<Record<string, string>> = {
  generate_access_token: ".logIn(",
  protect_file: ".upload(",
};

function filesThatExercise(operation: string): string[] {
  const call = new RegExp(
    String.raw`[cC]all\(\s*"${operation}"|Path\.${operation}\b|\("${operation}"`,
    "u",
  );
  const helper = helpers[operation];
  return [...sources].flatMap(([name, source]) =>
    call.test(source) || (helper !== undefined && source.includes(helper)) ? [name] : [],
  );
}

test.each(Object.keys({ ...operationPath, ...sessionOperationPath }))(
  "%s is exercised by a test of its own",
  (operation) => {
    expect(filesThatExercise(operation)).not.toEqual([]);
  },
);

test.each(Object.keys(errorCodes))("error code %s is expected by a test", (code) => {
  // As "code" or "409 code".
  const expectation = new RegExp(String.raw`"(?:\d{3} )?${code}"`, "u");
  expect([...sources.values()].some((source) => expectation.test(source))).toBe(true);
});
