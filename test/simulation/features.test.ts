import { beforeAll, describe, expect, test } from "vitest";
import { customResourceDefinitions } from "../../src/operator/api/crd.ts";
import { isObject } from "../../src/lib/is-object.ts";
import { type Episode, fieldsIn, fieldsOf } from "./features.ts";
import { PairCounts, possiblePairs } from "./pairs.ts";
import { commandsOf, EPISODE_STEPS, seedOfEpisode } from "./simulate.ts";

/** As many episodes as 400,000 steps have, for single fields, and as 100,000 have, for pairs. */
const EPISODES = 400_000 / EPISODE_STEPS;
const EPISODES_OF_PAIRS = 100_000 / EPISODE_STEPS;

/** Fields that no command writes, each with its reason. */
const exceptions: Readonly<Record<string, string>> = {
  "rolloutRestart[].kind=Rollout":
    "the simulated cluster has no Argo Rollouts; restart tests have them",
};

let episodes: readonly Episode[];

beforeAll(() => {
  episodes = Array.from({ length: EPISODES }, (_, index) => {
    const seed = seedOfEpisode(1, index);
    return { seed, commands: commandsOf(seed, EPISODE_STEPS) };
  });
});

const isExcepted = (path: string): boolean =>
  Object.keys(exceptions).some((exception) => path.startsWith(exception));

/** Returns the paths of the fields of a schema of OpenAPI, as `schemaPaths` names them. */
function openApiPaths(schema: unknown, path = ""): string[] {
  if (!isObject(schema)) return [];
  const { properties, items, additionalProperties, enum: values, type } = schema;
  const at = (inner: unknown, inPath: string): string[] =>
    isObject(inner) ? [inPath, ...openApiPaths(inner, inPath)] : [];
  return [
    ...Object.entries(isObject(properties) ? properties : {}).flatMap(([name, inner]) =>
      at(inner, path === "" ? name : `${path}.${name}`),
    ),
    ...at(items, `${path}[]`),
    ...at(additionalProperties, `${path}.*`),
    ...(Array.isArray(values) ? values.map((value) => `${path}=${String(value)}`) : []),
    ...(type === "boolean" ? [`${path}=true`] : []),
  ];
}

/** Returns the schema of the spec in a CustomResourceDefinition, and its kind. */
function specIn(crd: object): { readonly kind: string; readonly schema: unknown } {
  const { spec } = JSON.parse(JSON.stringify(crd));
  const [{ schema }] = spec.versions;
  return { kind: spec.names.kind, schema: schema.openAPIV3Schema.properties.spec };
}

test("the fields to be written are the ones in the CRDs, of every kind", () => {
  const ofCrds = [...customResourceDefinitions().values()].map(specIn).map(({ kind, schema }) => ({
    kind,
    paths: openApiPaths(schema).sort(),
  }));
  const counted = Object.entries(fieldsOf).map(([kind, paths]) => ({
    kind,
    // Texts in CRDs, next to numbers.
    paths: [...paths].filter((path) => !/version=(?:latest|previous)$/u.test(path)).sort(),
  }));
  expect(Object.fromEntries(counted.map(({ kind, paths }) => [kind, paths]))).toEqual(
    Object.fromEntries(ofCrds.map(({ kind, paths }) => [kind, paths])),
  );
});

/** Returns how commands change the policy and the name of the targets of resources. */
function* targetChanges(commands: Episode["commands"]): Generator<string> {
  const targets = new Map<string, { readonly policy: string; readonly name: string }>();
  for (const command of commands) {
    if (command.type !== "put" && command.type !== "delete") continue;
    const key = `${command.kind}/${command.namespace}/${command.name}`;
    const before = targets.get(key);
    targets.delete(key);
    if (command.type === "delete" || command.kind === "VaultConnection") continue;
    const { target }: { target?: { creationPolicy?: string; name?: string } } = command.spec;
    const { creationPolicy: policy = "Owner", name = command.name } = target ?? {};
    targets.set(key, { policy, name });
    if (before === undefined) continue;
    const renamed = before.name === name ? "" : ", renamed";
    if (before.policy !== policy) yield `${before.policy} to ${policy}${renamed}`;
    else if (renamed !== "") yield `renamed under ${policy}`;
  }
}

describe("random commands", () => {
  test.for(
    Object.keys(fieldsOf).filter((kind) => kind !== "VaultPush") as (keyof typeof fieldsOf)[],
  )("write every field of a %s", (kind) => {
    const written = new Set(
      episodes.flatMap(({ commands }) => commands.flatMap((command) => [...fieldsIn(command)])),
    );
    const never = [...fieldsOf[kind]].filter((path) => !written.has(`${kind} ${path}`));
    expect(never.filter((path) => !isExcepted(path))).toEqual([]);
  });

  test("change each policy of an existing target to each other one, and rename its target", () => {
    const policies = ["Owner", "Orphan", "Merge"];
    const counts = new Map<string, number>();
    for (const { commands } of episodes.slice(0, EPISODES_OF_PAIRS))
      for (const change of targetChanges(commands))
        counts.set(change, (counts.get(change) ?? 0) + 1);
    const expected = policies.flatMap((before) => [
      `renamed under ${before}`,
      ...policies
        .filter((now) => now !== before)
        .flatMap((now) => [`${before} to ${now}`, `${before} to ${now}, renamed`]),
    ]);
    expect(expected.filter((change) => (counts.get(change) ?? 0) < 10)).toEqual([]);
  });

  test("have no exception without a field", () => {
    const all = Object.values(fieldsOf).flatMap((paths) => [...paths]);
    for (const path of Object.keys(exceptions)) expect(all).toContain(path);
  });

  test("reach every pair of features that a user can write in 100,000 steps", () => {
    const counts = new PairCounts();
    for (const episode of episodes.slice(0, EPISODES_OF_PAIRS)) counts.add(episode);
    expect(possiblePairs().length).toBeGreaterThan(1_000);
    expect(counts.missing()).toEqual([]);
  });
});
