import { expect, test } from "vitest";
import { explainProblems } from "./validation.ts";
import { vaultSecretSpec } from "./vault-secret.ts";

/** Returns what is wrong with a spec that has this rule; the API server accepts it. */
function problemOf(source: string, target: string): string {
  const dataFrom = [{ extract: { key: "config" }, rewrite: [{ regexp: { source, target } }] }];
  const parsed = vaultSecretSpec.safeParse({ connectionRef: { name: "vault" }, dataFrom });
  return parsed.error ? explainProblems(parsed.error) : "";
}

test("a valid rule has no problem", () => {
  expect(problemOf("^(?P<n>.*)$", "$1-${n}")).toBe("");
});

test("an invalid regular expression is reported with its field, its position and an example", () => {
  expect(problemOf("^shop-(", "$1")).toBe(
    "spec.dataFrom[0].rewrite[0].regexp.source: missing closing ) at position 7: must be a regular expression in the syntax of RE2, for example ^shop-(.*)$",
  );
});

test("an invalid replacement is reported with its field and its position", () => {
  expect(problemOf("^shop-", "x$1")).toBe(
    "spec.dataFrom[0].rewrite[0].regexp.target: the expression has no group 1 at position 2: must be a replacement such as $1",
  );
});
