import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { schemaOf, specTable } from "../../../test/lab/kube/spec-table.ts";
import { explainProblems } from "./validation.ts";
import { vaultSecretSpec } from "./vault-secret.ts";

function explain(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value);
  if (error === undefined) throw new Error("the value is valid");
  return explainProblems(error);
}

test("explainProblems starts each problem with the path of its field", () => {
  const spec = {
    connectionRef: { name: "vault" },
    data: [{ secretKey: "ok", remoteRef: { key: "k", version: "x" } }, { secretKey: "a/b" }],
  };
  const text = explain(vaultSecretSpec, spec);
  expect(text).toContain(
    "spec.data[0].remoteRef.version: must be latest, previous or a number of at least 1 without quotes",
  );
  expect(text).toContain("spec.data[1].secretKey: must consist of letters");
  expect(text).toContain("spec.data[1].remoteRef: ");
});

test("explainProblems reports a missing spec as a problem of spec", () => {
  expect(explain(vaultSecretSpec, undefined)).toBe(
    "spec: Invalid input: expected object, received undefined",
  );
});

test("explainProblems lists three problems and counts the rest", () => {
  const five = z.object(
    Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, z.string()])),
  );
  expect(explain(five, {}).match(/spec\.\w/g)).toEqual(["spec.a", "spec.b", "spec.c"]);
  expect(explain(five, {})).toMatch(/; and 2 more$/);
  expect(explain(five, { a: "", b: "" })).not.toContain("more");
});

/** Prefixes every string in a spec with a canary; keys stay unchanged. */
function withCanaries(value: unknown, canary: string): unknown {
  if (typeof value === "string") return canary + value;
  if (Array.isArray(value)) return value.map((each) => withCanaries(each, canary));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withCanaries(member, canary)]),
  );
}

test.each(specTable.filter(({ rejected }) => rejected !== undefined))(
  "explainProblems never quotes a value: $what",
  ({ kind, spec }) => {
    const canary = "CANARY/explain ";
    const { error } = schemaOf.get(kind)!.safeParse(withCanaries(spec, canary));
    expect(error === undefined ? "" : explainProblems(error)).not.toContain("CANARY");
  },
);

test("explainProblems never quotes parts of an arbitrary spec", () => {
  const canary = fc.stringMatching(/^canary-[a-z0-9]{12}$/);
  const anything = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      canary,
      fc.double(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      tie("object"),
    ),
    object: fc.dictionary(
      fc.oneof(
        canary,
        fc.constantFrom(
          "connectionRef",
          "data",
          "files",
          "target",
          "url",
          "email",
          "auth",
          "scope",
          "name",
          "suspend",
        ),
      ),
      tie("value"),
      { maxKeys: 4 },
    ),
  })).value;
  const schema = fc.constantFrom(...schemaOf.values());
  fc.assert(
    fc.property(schema, anything, (kind, spec) => {
      const { error } = kind.safeParse(spec);
      expect(error === undefined ? "" : explainProblems(error)).not.toContain("canary-");
    }),
    { numRuns: 500 },
  );
});
