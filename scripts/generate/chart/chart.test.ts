import { expect, test } from "vitest";
import { operatorFlags } from "../../../src/operator/config.ts";
import { schemaCompiler } from "../../../test/lab/assertions/json-schema.ts";
import { type Chart, charts } from "./charts.ts";
import { flagsSchema, describedSchema, type JsonSchema } from "./chart.ts";
import { chartValues } from "./values.ts";

type Value = string | number | string[];

/** Returns the argument that the chart makes of a flag's value. */
const argumentOf = (name: string, value: Value): string =>
  `--${name.replaceAll(/[A-Z]/gu, (upper) => `-${upper.toLowerCase()}`)}=${String(value)}`;

/** Reports whether the program of a chart starts with a flag. */
function isAccepted(chart: Chart, name: string, value: Value): boolean {
  const command = chart.command().exitOverride();
  command.configureOutput({ writeErr: () => undefined });
  try {
    // A proxy requires hosts.
    const others = name === "vaultProxy" ? ["--vault-hosts=vault.example.com"] : [];
    command.parseOptions([argumentOf(name, value), ...others]);
  } catch {
    return false;
  }
  const { logLevel: _, ...flags } = command.opts();
  return command.name() !== "operator" || operatorFlags.safeParse(flags).success;
}

/** Values at the limits of the programs, and mistakes in them. */
const numbers = [-1, 0, 1, 64, 65, 256, 257, 1023, 1024, 65_535, 65_536, 268_435_456, 268_435_457];
const durations = ["0", "0s", "1s", "59s", "60s", "1m", "1m30s", "60m", "61m", "1h", "3600s"];
const more = ["3601s", "1h1s", "90", "2h", "1h30m", "soon", "30m"];
const hosts = ["vault.example.com", "*.example.com", "192.0.2.1", "2001:db8::1", "vault", "*"];
const noHosts = ["https://vault", "vault:8200", "a/b", "a b", "[::1]", "a..b", ".a", ""];
const types = ["Opaque", "example.com/a", "helm.sh/release.v1", "vaultsync.dev/credentials", "a b"];
const reserved = ["kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "-a", ""];
const quotas = ["secrets=1", "secrets=", "secret=1", "secrets=-1"];
const networks = ["10.0.0.0/8", "10.0.0.0/0", "fd00::/8", "192.0.2.1", "proxy"];
const urls = ["https://a.example.com", "https://a:8443", "https://a/b", "ftp://a", "a"];
const targets = ["stdout", "syslog+tls://a:1", "syslog://a", "none"];

const lists = [...hosts, ...noHosts, ...types, ...reserved, ...quotas, ...networks];
const candidates: readonly Value[] = [
  ...numbers,
  ...durations,
  ...more,
  ...urls,
  ...targets,
  ...lists.map((one) => [one]),
  [],
];

const compile = await schemaCompiler({ components: {} });

/** Reports whether the schema accepts only the usual forms of a duration. */
const isStricter = (name: string): boolean => /^(?:restartWindow|volumeSync|resync)$/u.test(name);

test.each(charts)("the schema of $folder refuses the flags that the program refuses", (chart) => {
  const { properties = {} } = flagsSchema(chart);
  const wrong: string[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    const matches = compile(schema);
    const isList = schema.type === "array";
    const isText = [schema.type].flat().includes("string");
    const isNumber = [schema.type].flat().includes("integer");
    for (const value of candidates) {
      if (schema.type === "boolean" || schema.enum !== undefined) continue;
      if (Array.isArray(value) !== isList) continue;
      if (typeof value === "number" ? !isNumber : !isList && !isText) continue;
      const [bySchema, byProgram] = [matches(value), isAccepted(chart, name, value)];
      if (bySchema === byProgram || (!bySchema && isStricter(name))) continue;
      wrong.push(`${name}=${JSON.stringify(value)}: schema ${bySchema}, program ${byProgram}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("the usual forms of durations are accepted", () => {
  const [operator] = charts;
  const { properties = {} } = operator === undefined ? {} : flagsSchema(operator);
  const accepted = (name: string): string[] =>
    [...durations, ...more].filter(compile(properties[name] ?? {}));
  expect(accepted("resync")).toEqual([
    "0",
    "60s",
    "1m",
    "1m30s",
    "60m",
    "61m",
    "1h",
    "3600s",
    "3601s",
    "2h",
    "1h30m",
    "30m",
  ]);
  expect(accepted("restartWindow")).toEqual([
    "1s",
    "59s",
    "60s",
    "1m",
    "1m30s",
    "60m",
    "1h",
    "3600s",
    "30m",
  ]);
});

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
