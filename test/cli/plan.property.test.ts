import { expect, test } from "vitest";
import { planOf } from "../../src/operator/cli/plan/planned-resource.ts";
import { accessThrough, checkResource } from "../../src/operator/cli/plan/check-resources.ts";
import type { Manifest, Problem } from "../../src/operator/cli/manifests/manifest.ts";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { Draw, type Feature } from "../simulation/random-features.ts";
import { SpecMaker } from "../simulation/random-specs.ts";
import { accountOf, passwordIn, SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { seededRandom } from "../lab/seeded-random.ts";

const SPECS = 300;
const features: Feature[] = [
  "Merge",
  "filesFrom",
  "findMetadata",
  "forms",
  "many",
  "rewrite",
  "template",
  "types",
  "versions",
];
const types = [
  "Opaque",
  "kubernetes.io/tls",
  "kubernetes.io/basic-auth",
  "kubernetes.io/ssh-auth",
  "example.com/token",
];
const labels = new Map([
  ["shop", { team: "shop" }],
  ["blog", { team: "blog" }],
]);
/** Reasons that a plan can know. */
const planned = ["InvalidSpec", "NamespaceNotAllowed"];

const allow = (team: string, names: readonly string[]): object => {
  return { namespaceSelector: { matchLabels: { team } }, secrets: names, files: names };
};
const connection = { name: "corporate" };
const spec = {
  url: "https://vault.example.com",
  email: accountOf(connection),
  auth: { passwordSecretRef: { name: "login" } },
  access: [allow("shop", ["s*", "f*"]), allow("blog", ["s1"])],
};

const manifest = (kind: string, name: string, namespace: string, written: unknown): Manifest => {
  const apiVersion = "vaultsync.dev/v1alpha1";
  return {
    file: "all.yaml",
    apiVersion,
    kind,
    name,
    namespace,
    metadata: {},
    spec: written,
    fields: [],
    lineOf: () => 1,
  };
};

/** Returns a spec that may have mistakes which the API server accepts. */
function randomSpec(maker: SpecMaker, draw: Draw, kind: "VaultSecret" | "VaultFile"): object {
  const { target, ...rest }: { target?: { creationPolicy?: string } } = maker.resource(
    kind,
    "gamma",
  );
  const isTyped = kind === "VaultSecret" && target?.creationPolicy !== "Merge" && draw.below(0.4);
  const connectionRef = { kind: "ClusterVaultConnection", name: connection.name };
  return {
    ...rest,
    target: { ...target, name: undefined, ...(isTyped && { type: draw.pick(types) }) },
    connectionRef,
  };
}

test("what a plan accepts, the operator calls neither invalid nor not allowed", async () => {
  const draw = new Draw(seededRandom(24));
  await using scene = new SimulatedWorld({ passwordIn, immediateVaults: true });
  for (const [namespace, of] of labels) scene.namespace(namespace, of);
  scene.connectAccount(connection, spec);
  scene.vault().writeAs(accountOf(connection), ["s1", "s2", "s3"]);
  const problems: Problem[] = [];
  const manifests = Array.from({ length: SPECS }, (_, index) => {
    const kind = draw.pick(["VaultSecret", "VaultFile"] as const);
    const maker = new SpecMaker(draw, new Set(draw.some(features)));
    return manifest(
      kind,
      `r${index}`,
      draw.pick([...labels.keys()]),
      randomSpec(maker, draw, kind),
    );
  });
  const plan = planOf(
    [manifest("ClusterVaultConnection", connection.name, "", spec), ...manifests],
    [],
    problems,
  );
  const accepted = new Set<string>();
  for (const resource of plan.resources) {
    const access = accessThrough(plan.connections[0]!, resource.manifest.namespace, labels);
    if (checkResource(resource, access, undefined).length === 0)
      accepted.add(resource.manifest.name);
  }
  for (const { kind, name, namespace, spec: written } of manifests) {
    scene.put(
      kind === "VaultFile" ? vaultFileKind : vaultSecretKind,
      { namespace, name },
      Object(written),
    );
  }
  scene.start();
  await scene.settle(60_000);
  const answers = manifests.map(({ kind, name, namespace }) => {
    const ref = { namespace, name };
    return {
      name,
      condition: scene.conditionOf(kind === "VaultFile" ? vaultFileKind : vaultSecretKind, ref),
    };
  });
  const rejected = answers.filter(({ condition }) => planned.includes(condition?.reason ?? ""));
  expect(rejected.filter(({ name }) => accepted.has(name))).toEqual([]);
  expect(answers.filter(({ condition }) => condition === undefined)).toEqual([]);
  expect(rejected.length).toBeGreaterThan(SPECS / 10);
  expect(accepted.size).toBeGreaterThan(SPECS / 10);
});
