import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { Helm, operatorRelease, vaultRelease } from "../../lab/helm/helm.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";

const strings = z.record(z.string(), z.string());
const renderedObject = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: strings.optional(),
    annotations: strings.optional(),
  }),
});
type Rendered = z.output<typeof renderedObject>;

/** Names that the chart has in addition to the kustomizations; everything else has to be equal. */
const ofHelm = {
  labels: [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
  ],
  /**
   * The CRDs and what deploy/cluster has outlive the release, as they outlive a deletion of
   * deploy/base.
   */
  annotations: ["helm.sh/resource-policy"],
};

function without(names: Readonly<Record<string, string>> | undefined, omitted: readonly string[]) {
  const rest = Object.entries(names ?? {}).filter(([name]) => !omitted.includes(name));
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

/** Returns an object without `undefined`, as JSON shows it. */
const plain = (object: unknown): unknown => JSON.parse(JSON.stringify(object));

function withoutHelm(object: Rendered): unknown {
  const { metadata } = object;
  const labels = without(metadata.labels, ofHelm.labels);
  const annotations = without(metadata.annotations, ofHelm.annotations);
  return plain({ ...object, metadata: { ...metadata, labels, annotations } });
}

const keyOf = ({ kind, metadata: { namespace, name } }: Rendered): string =>
  [kind, ...(namespace === undefined ? [] : [namespace]), name].join("/");

function objectsOf(manifests: string, change: (object: Rendered) => unknown): Map<string, unknown> {
  const objects = new Map<string, unknown>();
  // The API server reads YAML 1.1, where 0444 is octal.
  for (const document of parseAllDocuments(manifests, { version: "1.1" })) {
    const json: unknown = document.toJS();
    if (json === null) continue;
    const object = renderedObject.parse(json);
    const key = keyOf(object);
    if (objects.has(key)) throw new Error(`${key} occurs twice`);
    objects.set(key, change(object));
  }
  return objects;
}

/** Returns the objects of a rendered chart by `Kind/namespace/name`, without what Helm adds. */
const chartObjects = (manifests: string): Map<string, unknown> => objectsOf(manifests, withoutHelm);

/** Returns the objects of `kubectl kustomize` by `Kind/namespace/name`. */
const kustomizedObjects = (manifests: string): Map<string, unknown> => objectsOf(manifests, plain);

const root = join(import.meta.dirname, "..", "..", "..");

let helm: Helm;
let plane: ControlPlane;
beforeAll(async () => {
  helm = await Helm.create();
  plane = await sharedControlPlane();
});
afterAll(() => helm[Symbol.asyncDispose]());

const kubectl = (...args: string[]): Promise<string> => plane.kubectlOutput(args);
const kustomize = (folder: string): Promise<string> => kubectl("kustomize", join(root, folder));

/** The objects of the commands of docs/operator.md that serve the namespaces shop and billing. */
async function namespacedObjects(): Promise<Map<string, unknown>> {
  const objects = kustomizedObjects(await kustomize("deploy/overlays/namespaced"));
  for (const namespace of ["shop", "billing"]) {
    const tenant = (await kustomize("deploy/namespaced/tenant")).replaceAll(
      /^metadata:$/gmu,
      `metadata:\n  namespace: ${namespace}`,
    );
    for (const [key, object] of kustomizedObjects(tenant)) objects.set(key, object);
  }
  const create = [
    "create",
    "configmap",
    "vaultsync",
    "--namespace=vaultsync-system",
    "--from-literal=namespaces=shop,billing",
  ];
  const configMap = await kubectl(...create, "--dry-run=client", "--output=yaml");
  const labeled = configMap.replace(
    /^metadata:$/mu,
    "metadata:\n  labels: { app.kubernetes.io/name: vaultsync }",
  );
  // Some versions of kubectl print an empty timestamp.
  const unborn = labeled.replace("  creationTimestamp: null\n", "");
  for (const [key, object] of kustomizedObjects(unborn)) objects.set(key, object);
  return objects;
}

describe("the rendered chart has the objects of", () => {
  test.each([
    ["cluster-wide", []],
    ["minimal", ["--set=targetWatch=false"]],
  ])("deploy/overlays/%s", async (overlay, values) => {
    const expected = kustomizedObjects(await kustomize(`deploy/overlays/${overlay}`));
    // The namespace of a release exists before it, and outlives it.
    expect(expected.delete("Namespace/vaultsync-system")).toBe(true);
    expect(chartObjects(await helm.template(operatorRelease, values))).toEqual(expected);
  });

  test.each([
    ["vault", []],
    ["vault-postgres", ["--set=postgres.enabled=true"]],
  ])("deploy/overlays/%s", async (overlay, values) => {
    const expected = kustomizedObjects(await kustomize(`deploy/overlays/${overlay}`));
    expect(chartObjects(await helm.template(vaultRelease, values))).toEqual(expected);
  });

  test.each([
    ["operator", operatorRelease],
    ["vault", vaultRelease],
  ])("deploy/monitoring/%s, in addition", async (folder, release) => {
    const expected = kustomizedObjects(await kustomize(`deploy/monitoring/${folder}`));
    const rendered = await helm.template(release, [
      "--set=monitoring.podMonitor=true,monitoring.prometheusRule=true,monitoring.dashboard=true",
    ]);
    expect(new Map([...chartObjects(rendered)].filter(([key]) => expected.has(key)))).toEqual(
      expected,
    );
  });

  test.each([
    ["deploy/base", "ClusterRole/vaultsync", []],
    ["deploy/namespaced/tenant", "Role/shop/vaultsync", ["--set=namespaces={shop}"]],
  ])("%s with the component service-account-logins", async (base, key, values) => {
    const folder = await mkdtemp(join(root, "deploy", "components", "test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const kustomization = {
      namespace: base === "deploy/base" ? "vaultsync-system" : "shop",
      resources: [relative(folder, join(root, base))],
      components: ["../service-account-logins"],
    };
    await writeFile(join(folder, "kustomization.yaml"), JSON.stringify(kustomization));
    const expected = kustomizedObjects(await kustomize(relative(root, folder)));
    const logins = ["--set=serviceAccountLogins={vaultsync}", ...values];
    const role = chartObjects(await helm.template(operatorRelease, logins)).get(key);
    expect(role).toEqual(expected.get(key));
    expect(JSON.stringify(role)).toContain("serviceaccounts/token");
  });

  test("deploy/overlays/namespaced, deploy/namespaced/tenant and the ConfigMap", async () => {
    const expected = await namespacedObjects();
    expect(expected.delete("Namespace/vaultsync-system")).toBe(true);
    expect(
      chartObjects(await helm.template(operatorRelease, ["--set=namespaces={shop,billing}"])),
    ).toEqual(expected);
  });
});

const component = z.object({
  replacements: z.array(
    z.object({
      targets: z.array(z.object({ select: z.object({ kind: z.string(), name: z.string() }) })),
    }),
  ),
});

test("deploy/policies/identity selects objects by their names, as kustomize of kubectl 1.30 can", async () => {
  const file = join(root, "deploy/policies/identity/kustomization.yaml");
  const { replacements } = component.parse(parse(await readFile(file, "utf8")));
  const selected = replacements.map(({ targets }) =>
    targets.map(({ select: { kind, name } }) => `${kind}/${name}`),
  );
  const objects = kustomizedObjects(await kustomize("deploy/overlays/cluster-wide"));
  const named = [...objects.keys()].filter((key) =>
    /^(?:FlowSchema|ValidatingAdmissionPolicy\/vaultsync-operator-)/u.test(key),
  );
  expect(named).toHaveLength(5);
  for (const keys of selected) expect(keys.toSorted()).toEqual(named.toSorted());
});
