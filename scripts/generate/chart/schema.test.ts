import { expect, test } from "vitest";
import { describedSchema, type JsonSchema } from "./schema.ts";
import { chartValues } from "./values.ts";

const yaml = `# The image.
image:
  # The repository.
  repository: vaultsync

# Taints of nodes.
tolerations: []

# Flags.
flags: {}
`;
const schema: JsonSchema = {
  type: "object",
  properties: {
    image: { type: "object", properties: { repository: { type: "string" } } },
    tolerations: { type: "array" },
    flags: {},
    global: { type: "object" },
  },
};
const flags: JsonSchema = {
  type: "object",
  properties: { shards: { type: "integer", description: "number of parts" } },
};

test("the schema of a chart has the comments of its values and the flags of its command", () => {
  expect(describedSchema(schema, chartValues(yaml), flags)).toEqual({
    type: "object",
    properties: {
      image: {
        description: "The image.",
        type: "object",
        properties: { repository: { description: "The repository.", type: "string" } },
      },
      tolerations: { description: "Taints of nodes.", type: "array" },
      flags: { description: "Flags.", ...flags },
      global: { type: "object" },
    },
  });
});

test.each([
  [
    "a value without a schema",
    `${yaml}\n# More.\nreplicas: 1\n`,
    "values.schema.json has nothing for the value replicas",
  ],
  [
    "a value without a comment",
    yaml.replace("# Taints of nodes.\n", ""),
    "values.yaml has no comment for tolerations",
  ],
  [
    "a schema without a value",
    yaml.replace("# Taints of nodes.\ntolerations: []\n", ""),
    "values.yaml has nothing for tolerations",
  ],
])("the schema of a chart cannot be generated with %s", (_, changed, message) => {
  expect(() => describedSchema(schema, chartValues(changed), flags)).toThrow(message);
});

test("chartValues finds comments of several lines, and that of the first value in a map", () => {
  const values = chartValues("# Two\n# lines.\na:\n  # Inner.\n  b: 1\n  c: [x]\n");
  expect(values).toEqual([
    { path: ["a"], description: "Two lines.", fallback: { b: 1, c: ["x"] } },
    { path: ["a", "b"], description: "Inner.", fallback: 1 },
    { path: ["a", "c"], description: "", fallback: ["x"] },
  ]);
});
