import { isDeepStrictEqual } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { decideTargets, makeTargets } from "../../src/operator/cli/local/local-targets.ts";
import { targetObject } from "../../src/operator/cli/local/rendering.ts";
import type { Manifest, Problem } from "../../src/operator/cli/manifests/manifest.ts";
import { planOf } from "../../src/operator/cli/plan/planned-resource.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { Redacted } from "../../src/lib/redacted.ts";
import { logIn, VaultClient } from "../../src/protocol/client/vault-client.ts";
import { unlimitedScope, formatScope } from "../../src/protocol/scope.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { serveVault } from "../lab/simulated/vault/serve-vault.ts";
import { ACCOUNT, OTHER, PASSWORD } from "../lab/simulated/simulated-vault.ts";
import { OPERATOR_NAMESPACE, SHOP } from "../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { FILE_NAMES, MANY_NAMES, SECRET_NAMES } from "../simulation/invariants/spec-items.ts";
import { Draw, type Feature } from "../simulation/random-features.ts";
import { SpecMaker } from "../simulation/random-specs.ts";
import { valueForms, valueOf } from "../simulation/simulated-values.ts";

const SPECS = 150;
const features: Feature[] = [
  "filesFrom",
  "findMetadata",
  "forms",
  "immutable",
  "many",
  "Merge",
  "metadata",
  "Orphan",
  "rewrite",
  "template",
  "types",
  "versions",
];
const signal = new AbortController().signal;

const connectionSpec = {
  url: "https://vault.example.com",
  email: ACCOUNT,
  auth: { passwordSecretRef: { name: "login" } },
  trustedOwners: [OTHER],
  refreshInterval: "5s",
};

const manifest = (kind: string, name: string, spec: unknown): Manifest => ({
  file: "all.yaml",
  apiVersion: "vaultsync.dev/v1alpha1",
  kind,
  name,
  namespace: SHOP,
  metadata: {},
  fields: ["spec"],
  spec,
  lineOf: () => 1,
});

/** Writes random entries: own, received and both of one name, in several versions. */
function fill(scene: SimulatedWorld, draw: Draw): void {
  const vault = scene.vault();
  vault.setPassword(OTHER, PASSWORD);
  let number = 0;
  for (const name of [...SECRET_NAMES, ...MANY_NAMES]) {
    for (const owner of draw.some([ACCOUNT, OTHER])) {
      if (draw.below(0.15)) continue;
      for (let version = 0; version < 1 + Math.floor(draw.random() * 3); version++) {
        number += 1;
        const key_value = valueOf(draw.pick(valueForms), number, name).text;
        const metadata = draw.below(0.5) ? { environment_type: "prod" } : {};
        vault.act(owner, "protect", { key_name: name, key_value, metadata });
      }
      if (owner === OTHER)
        vault.act(OTHER, "share", {
          key_name: name,
          usr_id_from: OTHER,
          usr_id_to: ACCOUNT,
          permission: "R",
        });
    }
  }
  for (const name of draw.some(FILE_NAMES))
    vault.upload(ACCOUNT, name, Buffer.from([...Buffer.from(`file ${name}`), 0xff]));
}

/** Reports whether a label or annotation is no mark of the operator. */
const isOwn = ([name]: readonly [string, string]): boolean =>
  !name.includes("vaultsync") && name !== "app.kubernetes.io/managed-by";

interface TargetSpec {
  readonly target: { readonly kind?: string; readonly creationPolicy?: string };
}

const isMergedSpec = (spec: unknown): boolean =>
  (spec as TargetSpec).target.creationPolicy === "Merge";

const targetKindOf = (kind: string, spec: unknown) =>
  kind === "VaultFile" && (spec as TargetSpec).target.kind === "ConfigMap" ? CONFIG_MAPS : SECRETS;

/** Creates the object that a resource merges keys into. */
function createForeign(scene: SimulatedWorld, { kind, name, spec }: Manifest): void {
  const descriptor = targetKindOf(kind, spec);
  const metadata = { namespace: SHOP, name };
  const object = { apiVersion: "v1", kind: descriptor.kind, metadata, data: { foreign: "YQ==" } };
  scene.server.create(descriptor, object);
}

/** Returns the keys that a resource merged into an object, as an object; `undefined` if none. */
function mergedInto(
  scene: SimulatedWorld,
  descriptor: ReturnType<typeof targetKindOf>,
  name: string,
): KubeObject | undefined {
  const object = scene.server.get(descriptor, { namespace: SHOP, name });
  const { foreign: _, ...data } = Object(object)["data"];
  const binaryData: object = Object(object)["binaryData"] ?? {};
  if (Object.keys({ ...data, ...binaryData }).length === 0) return undefined;
  const metadata = { namespace: SHOP, name };
  return { apiVersion: "v1", kind: descriptor.kind, metadata, data, binaryData };
}

/** Returns the fields of a target that a rendering has. */
function compared(object: KubeObject): object {
  const {
    kind,
    metadata,
    type,
    immutable,
    data = {},
    binaryData = {},
  } = object as KubeObject & {
    readonly [field: string]: unknown;
  };
  const labels = Object.entries(metadata.labels ?? {}).filter(isOwn);
  const annotations = Object.entries(metadata.annotations ?? {}).filter(isOwn);
  return {
    kind,
    name: metadata.name,
    namespace: metadata.namespace,
    labels,
    annotations,
    type,
    immutable,
    data: { ...Object(data) },
    binaryData: { ...Object(binaryData) },
  };
}

/** Renders the resources of a world with the client of the commands. */
async function renderAll(scene: SimulatedWorld, manifests: readonly Manifest[]) {
  const server = await serveVault(scene.vault());
  onTestFinished(() => server[Symbol.asyncDispose]());
  const url = server.url.href.replace(/\/$/u, "");
  const scope = formatScope(unlimitedScope);
  const login = { email: ACCOUNT, password: new Redacted(PASSWORD), scope, hours: 24 };
  const client = new VaultClient(await logIn({ url }, login));
  const stored = scene.server.get(SECRETS, {
    namespace: OPERATOR_NAMESPACE,
    name: "vaultsync-content-key",
  });
  const encoded = Object(stored)["data"]["key"] as string;
  const key = new Redacted(new Uint8Array(Buffer.from(encoded, "base64")));
  const invalid: Problem[] = [];
  const plan = planOf(
    [manifest("VaultConnection", "vault", connectionSpec), ...manifests],
    [],
    invalid,
  );
  const results = new Map<string, { object?: object; problems: readonly string[] }>();
  for (const planned of plan.resources) {
    const resources = [{ planned, connection: plan.connections[0]! }];
    const decided = await decideTargets({ resources, namespaces: new Map(), problems: [] }, client);
    const made = await makeTargets(decided.targets, key, signal);
    const [target] = made.targets;
    const problems = [...decided.problems, ...made.problems].map(({ message }) => message);
    results.set(planned.manifest.name, {
      ...(target !== undefined && { object: compared(targetObject(target) as KubeObject) }),
      problems,
    });
  }
  return results;
}

test.each([4, 7, 24, 30])(
  "render makes of random specs and entries what the operator writes (seed %i)",
  async (seed) => {
    const draw = new Draw(seededRandom(seed));
    await using scene = new SimulatedWorld({ immediateVaults: true });
    scene.namespace(SHOP);
    scene.connect("vault", connectionSpec);
    fill(scene, draw);
    const manifests = Array.from({ length: SPECS }, (_, index) => {
      const kind = draw.pick(["VaultSecret", "VaultFile"] as const);
      const maker = new SpecMaker(draw, new Set(draw.some(features)));
      const { target, ...rest }: { target?: object } = maker.resource(kind, "gamma");
      const spec = {
        ...rest,
        target: { ...target, name: `r${index}` },
        connectionRef: { name: "vault" },
      };
      return manifest(kind, `r${index}`, spec);
    });
    for (const each of manifests) if (isMergedSpec(each.spec)) createForeign(scene, each);
    for (const { kind, name, spec } of manifests)
      scene.put(
        kind === "VaultFile" ? vaultFileKind : vaultSecretKind,
        { namespace: SHOP, name },
        Object(spec),
      );
    scene.start();
    await scene.settle(60_000);
    const rendered = await renderAll(scene, manifests);
    const outcomes = manifests.map(({ kind, name, spec }) => {
      const ref = { namespace: SHOP, name };
      const object = isMergedSpec(spec)
        ? mergedInto(scene, targetKindOf(kind, spec), name)
        : (scene.server.find(SECRETS, ref) ?? scene.server.find(CONFIG_MAPS, ref));
      const condition = scene.conditionOf(
        kind === "VaultFile" ? vaultFileKind : vaultSecretKind,
        ref,
      );
      const { object: made, problems = ["no such resource"] } = rendered.get(name) ?? {};
      const expected = object === undefined ? undefined : compared(object);
      // Without optional sources there is no target, and nothing wrong.
      const isRefused = object === undefined && condition?.status !== "True";
      const isSameReason = problems.some((one) => condition?.message.includes(one) === true);
      const isEqual = isDeepStrictEqual(made, expected) && (isSameReason || !isRefused);
      return {
        isEqual,
        isWritten: object !== undefined,
        spec,
        expected,
        made,
        condition,
        problems,
      };
    });
    expect(outcomes.filter(({ isEqual }) => !isEqual)).toEqual([]);
    expect(outcomes.filter(({ isWritten }) => isWritten).length).toBeGreaterThan(SPECS / 10);
    expect(outcomes.filter(({ isWritten }) => !isWritten).length).toBeGreaterThan(SPECS / 10);
  },
);
