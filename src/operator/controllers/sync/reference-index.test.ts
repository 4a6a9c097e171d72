import * as fc from "fast-check";
import { expect, test } from "vitest";
import { patternReference } from "../../vault-client/pattern.ts";
import { entriesOf } from "../../sync/sync-key.ts";
import { ReferenceIndex, type References } from "./reference-index.ts";

const references = (changes: Partial<References> = {}): References => ({
  kind: "VaultSecret",
  connection: "shop/vault",
  sources: ["db", "api"],
  target: "Secret/shop/db",
  whenGone: "",
  needsList: true,
  ...changes,
});

test("ReferenceIndex finds a resource by connection, source and target", () => {
  const index = new ReferenceIndex();
  index.set("shop/db", references());
  expect([...index.ofConnection("shop/vault")]).toEqual(["shop/db"]);
  expect([...index.ofSource("shop/vault", "secret", "db")]).toEqual(["shop/db"]);
  expect([...index.ofSource("shop/vault", "secret", "api")]).toEqual(["shop/db"]);
  expect([...index.ofTarget("Secret/shop/db")]).toEqual(["shop/db"]);
  expect(index.get("shop/db")).toEqual(references());
});

test("ReferenceIndex distinguishes sources of the same name by connection", () => {
  const index = new ReferenceIndex();
  index.set("shop/db", references());
  expect([...index.ofSource("other/vault", "secret", "db")]).toEqual([]);
  expect([...index.ofTarget("ConfigMap/shop/db")]).toEqual([]);
});

test("ReferenceIndex drops references that a resource no longer has", () => {
  const index = new ReferenceIndex();
  index.set("shop/db", references());
  index.set(
    "shop/db",
    references({ connection: "shop/other", sources: ["api"], target: "Secret/shop/new" }),
  );
  expect([...index.ofConnection("shop/vault")]).toEqual([]);
  expect([...index.ofSource("shop/vault", "secret", "api")]).toEqual([]);
  expect([...index.ofTarget("Secret/shop/db")]).toEqual([]);
  expect([...index.ofSource("shop/other", "secret", "api")]).toEqual(["shop/db"]);
});

test("ReferenceIndex finds and removes a resource once that names a source twice", () => {
  const index = new ReferenceIndex();
  index.set("shop/db", references({ sources: ["db", "db"] }));
  expect([...index.ofSource("shop/vault", "secret", "db")]).toEqual(["shop/db"]);
  index.remove("shop/db");
  expect([...index.ofSource("shop/vault", "secret", "db")]).toEqual([]);
  index.remove("shop/db");
  expect(index.get("shop/db")).toBeUndefined();
});

test("ReferenceIndex finds the resources of a pattern until the last of them is gone", () => {
  const index = new ReferenceIndex();
  const pattern = patternReference("^db");
  index.set("shop/one", references({ sources: [pattern] }));
  index.set("shop/two", references({ sources: [pattern, "db-1"] }));
  const of = (name: string): string[] => [...index.ofName("shop/vault", "secret", name)].sort();
  expect(of("db-1")).toEqual(["shop/one", "shop/two"]);
  expect(of("db-2")).toEqual(["shop/one", "shop/two"]);
  expect(of("api")).toEqual([]);
  expect([...index.ofName("shop/vault", "file", "db-2")]).toEqual([]);
  index.remove("shop/one");
  expect(of("db-2")).toEqual(["shop/two"]);
  index.set("shop/two", references({ sources: ["db-1"] }));
  expect(of("db-1")).toEqual(["shop/two"]);
  expect(of("db-2")).toEqual([]);
});

test("ReferenceIndex returns what a linear search would, after any changes", () => {
  const name = fc.constantFrom("a", "b", "a\nb", "__proto__");
  const kind = fc.constantFrom("VaultSecret" as const, "VaultFile" as const);
  const step = fc.record({
    resource: fc.constantFrom("n/1", "n/2", "n/3"),
    references: fc.option(
      fc.record({
        kind,
        connection: fc.constantFrom("n/v", "n/w"),
        sources: fc.array(name, { maxLength: 3 }),
        target: name,
        whenGone: fc.constant(""),
        needsList: fc.boolean(),
      }),
    ),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const index = new ReferenceIndex();
      const all = new Map<string, References>();
      for (const { resource, references: next } of steps) {
        if (next) index.set(resource, next);
        else index.remove(resource);
        if (next) all.set(resource, next);
        else all.delete(resource);
      }
      const who = (concerns: (one: References) => boolean): string[] =>
        [...all]
          .filter(([, one]) => concerns(one))
          .map(([key]) => key)
          .sort();
      for (const connection of ["n/v", "n/w"]) {
        expect([...index.ofConnection(connection)].sort()).toEqual(
          who((one) => one.connection === connection),
        );
        for (const of of ["secret", "file"] as const) {
          const alike = [...all.values()].filter(
            (one) => one.connection === connection && entriesOf(one.kind) === of,
          );
          expect([...index.sourcesOf(connection, of)].sort()).toEqual(
            [...new Set(alike.flatMap(({ sources }) => sources))].sort(),
          );
        }
        for (const source of ["a", "b", "a\nb", "__proto__"]) {
          for (const of of ["secret", "file"] as const) {
            const found = who(
              (one) =>
                one.connection === connection &&
                entriesOf(one.kind) === of &&
                one.sources.includes(source),
            );
            expect([...index.ofSource(connection, of, source)].sort()).toEqual(found);
          }
          expect([...index.ofTarget(source)].sort()).toEqual(
            who(({ target }) => target === source),
          );
        }
      }
    }),
  );
});
