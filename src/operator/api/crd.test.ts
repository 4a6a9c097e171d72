import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isObject, type JsonObject } from "../../lib/is-object.ts";
import { conditionTypes } from "./status.ts";
import { customResourceDefinitions } from "./crd.ts";
import { withRule } from "./validation.ts";

/** Returns every schema within a schema, with its path. */
function* schemasIn(
  schema: unknown,
  path: string,
): Generator<readonly [path: string, schema: JsonObject]> {
  if (!isObject(schema)) return;
  yield [path, schema];
  const { properties, items, additionalProperties } = schema;
  for (const [name, property] of isObject(properties) ? Object.entries(properties) : [])
    yield* schemasIn(property, `${path}.${name}`);
  yield* schemasIn(items, `${path}[]`);
  yield* schemasIn(additionalProperties, `${path}{}`);
}

const Definition = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    group: z.string(),
    scope: z.string(),
    names: z.object({
      kind: z.string(),
      plural: z.string(),
      singular: z.string(),
      listKind: z.string(),
      shortNames: z.array(z.string()),
    }),
    versions: z.array(
      z.object({
        name: z.string(),
        subresources: z.object({ status: z.object({}) }),
        additionalPrinterColumns: z.array(
          z.object({ name: z.string(), priority: z.int().optional() }),
        ),
        schema: z.object({ openAPIV3Schema: z.record(z.string(), z.unknown()) }),
      }),
    ),
  }),
});

const definitions = [...customResourceDefinitions()].map(([file, definition]) => ({
  file,
  ...Definition.parse(definition),
}));
const schemas = definitions.flatMap(({ spec }) => [
  ...schemasIn(spec.versions[0]?.schema.openAPIV3Schema, spec.names.kind),
]);
const at = (path: string): JsonObject => {
  const found = schemas.find(([where]) => where === path);
  if (found === undefined) throw new Error(`no schema at ${path}`);
  return found[1];
};
const Rules = z.array(z.object({ rule: z.string(), message: z.string() }));

describe("CRD schemas are structural", () => {
  test.each(schemas)("%s", (_, schema) => {
    const typed = typeof schema.type === "string" || schema["x-kubernetes-int-or-string"] === true;
    expect(typed).toBe(true);
    for (const forbidden of [
      "$ref",
      "$schema",
      "definitions",
      "$defs",
      "anyOf",
      "oneOf",
      "allOf",
      "const",
      "patternProperties",
    ]) {
      expect(schema).not.toHaveProperty(forbidden);
    }
    expect(schema.additionalProperties).not.toBe(false);
    expect(["boolean", "integer", "number", "string", "object", "array", undefined]).toContain(
      schema.type,
    );
  });

  test("a status is not observed by default, and nothing else has a default", () => {
    const defaults = schemas
      .filter(([, schema]) => "default" in schema)
      .map(([path, schema]) => [path, schema.default]);
    const unseen = { observedGeneration: -1 };
    expect(defaults).toEqual(definitions.map(({ spec }) => [`${spec.names.kind}.status`, unseen]));
  });

  test("version is int-or-string without a type", () => {
    const version = at("VaultSecret.spec.data[].remoteRef.version");
    expect(version).toMatchObject({
      "x-kubernetes-int-or-string": true,
      description: expect.stringMatching(/latest.*number/),
    });
    expect(version).not.toHaveProperty("type");
  });

  test("integers have the format int64 and no bounds that repeat it", () => {
    const integers = schemas.filter(([, { type }]) => type === "integer");
    expect(integers.length).toBeGreaterThan(5);
    expect(integers.filter(([, { format }]) => format !== "int64")).toEqual([]);
    expect(JSON.stringify(integers)).not.toContain(String(Number.MAX_SAFE_INTEGER));
  });

  test("only a cluster-scoped kind has fields that select namespaces", () => {
    const named = definitions.flatMap(({ spec }) => {
      const within = `${spec.names.kind}.spec.`;
      const selects = schemas.some(
        ([path]) => path.startsWith(within) && /namespace/iu.test(path.slice(within.length)),
      );
      return selects ? [[spec.names.kind, spec.scope]] : [];
    });
    // The author of a ClusterVaultConnection grants access to namespaces; a namespace is written to
    // only by a resource in it, and by one that the administrators of the cluster create.
    expect(named).toEqual([
      ["ClusterVaultConnection", "Cluster"],
      ["ClusterVaultSecret", "Cluster"],
      ["ClusterVaultFile", "Cluster"],
    ]);
  });
});

test("kubectl apply -k installs every CRD", async () => {
  const kustomization = await readFile(
    new URL("../../../deploy/chart/files/crds/Kustomization", import.meta.url),
    "utf8",
  );
  expect(parse(kustomization)).toMatchObject({
    resources: definitions.map(({ file }) => file).sort(),
  });
});

describe("CRD validation rules", () => {
  const ruled = schemas.flatMap(([path, schema]) =>
    Rules.parse(schema["x-kubernetes-validations"] ?? []).map(
      ({ rule, message }) => [path, rule, message] as const,
    ),
  );

  test.each(ruled)("%s: the rule %s has a message of one line", (_, _rule, message) => {
    expect(message).toMatch(/^[^\n]{15,2048}$/);
  });

  test.each([
    ["VaultSecret.spec", 1],
    ["VaultSecret.spec.data", 2],
    ["VaultSecret.spec.target.type", 1],
    ["VaultFile.spec", 1],
    ["VaultFile.spec.files", 2],
    ["VaultFile.spec.files[]", 1],
    ["ClusterVaultSecret.spec", 2],
    ["ClusterVaultSecret.spec.namespaceSelector", 1],
    ["ClusterVaultSecret.spec.target", 1],
    ["ClusterVaultFile.spec", 2],
    ["VaultConnection.spec.url", 1],
    ["VaultConnection.spec.email", 1],
    ["VaultConnection.spec.refreshInterval", 1],
  ])("%s keeps its rules if it is optional or has a description", (path, count) => {
    expect(ruled.filter(([where]) => where === path)).toHaveLength(count);
  });

  test("every list or text that a rule inspects has a maximum size", () => {
    const unbounded = schemas.filter(([path, { type, maxLength, maxItems, enum: values }]) => {
      if (!path.includes(".spec.")) return false;
      return (
        (type === "string" && maxLength === undefined && values === undefined) ||
        (type === "array" && maxItems === undefined)
      );
    });
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  test("several rules on one schema accumulate in order and are all checked", () => {
    const even = {
      cel: "self % 2 == 0",
      message: "even",
      check: (number: number) => number % 2 === 0,
    };
    const small = { cel: "self < 10", message: "small", check: (number: number) => number < 10 };
    const schema = withRule(withRule(z.number().describe("a number"), even), small);
    expect(schema.meta()).toMatchObject({
      description: "a number",
      "x-kubernetes-validations": [
        { rule: "self % 2 == 0", message: "even" },
        { rule: "self < 10", message: "small" },
      ],
    });
    expect(schema.safeParse(11).error?.issues.map(({ message }) => message)).toEqual([
      "even",
      "small",
    ]);
    expect(schema.safeParse(4).success).toBe(true);
  });
});

describe("CRD lists of type map", () => {
  test("name keys that every entry requires", () => {
    const maps = schemas.filter(([, schema]) => schema["x-kubernetes-list-type"] === "map");
    expect(maps.map(([path]) => path)).toEqual(
      expect.arrayContaining(["VaultSecret.spec.data", "VaultSecret.status.conditions"]),
    );
    for (const [path, schema] of maps) {
      const required = z.array(z.string()).parse(at(`${path}[]`).required);
      expect(required).toEqual(
        expect.arrayContaining(z.array(z.string()).parse(schema["x-kubernetes-list-map-keys"])),
      );
    }
  });
});

describe.each(definitions)("$file", ({ file, metadata, spec }) => {
  const [version] = spec.versions;

  test("the CRD is named after its kind", () => {
    expect(file).toBe(`vaultsync.dev_${spec.names.plural}.yaml`);
    expect(metadata.name).toBe(`${spec.names.plural}.vaultsync.dev`);
    expect(spec.names).toMatchObject({
      singular: spec.names.kind.toLowerCase(),
      listKind: `${spec.names.kind}List`,
    });
  });

  test("the columns of the CRD start with readiness and reason", () => {
    const shown = version?.additionalPrinterColumns
      .filter(({ priority }) => priority === undefined)
      .map(({ name }) => name);
    expect(shown?.slice(0, 2)).toEqual(["Ready", "Reason"]);
    expect(shown?.at(-1)).toBe("Age");
    expect(shown).not.toContain("Message");
  });

  test("every field, of a list entry and of the status as well, has a description", () => {
    const undescribed = (schema: unknown, path: string): string[] => {
      if (!isObject(schema)) return [];
      const fields = isObject(schema.properties) ? Object.entries(schema.properties) : [];
      const missing = fields.filter(
        ([, field]) => !isObject(field) || typeof field.description !== "string",
      );
      return [
        ...missing.map(([name]) => `${path}.${name}`),
        ...fields.flatMap(([name, field]) => undescribed(field, `${path}.${name}`)),
        ...undescribed(schema.items, `${path}[]`),
        ...undescribed(schema.additionalProperties, `${path}{}`),
      ];
    };
    // The API server adds the descriptions of the fields that every kind has.
    const common = ["apiVersion", "kind", "metadata"].map((field) => `${spec.names.kind}.${field}`);
    expect(undescribed(version?.schema.openAPIV3Schema, spec.names.kind)).toEqual(common);
  });

  test("the description of the conditions explains every type", () => {
    const { description } = at(`${spec.names.kind}.status.conditions`);
    expect(conditionTypes.filter((type) => !String(description).includes(`${type}:`))).toEqual([]);
  });

  test("the conditions accept every type of condition", () => {
    const { description: _, ...type } = at(`${spec.names.kind}.status.conditions[].type`);
    expect(type).toEqual({ type: "string" });
    expect(new Set(conditionTypes).size).toBe(conditionTypes.length);
  });
});

test("the CRDs have distinct names", () => {
  const names = definitions.flatMap(({ spec }) => [
    spec.names.plural,
    spec.names.singular,
    ...spec.names.shortNames,
  ]);
  expect(new Set(names).size).toBe(names.length);
});
