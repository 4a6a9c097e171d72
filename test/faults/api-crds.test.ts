import { afterAll, beforeAll, expect, test } from "vitest";
import { startControlPlane, type OwnedControlPlane } from "../lab/control-plane/start.ts";
import { condition, isReady } from "../lab/real/resources.ts";
import { installOperator } from "../lab/kube/install-crds.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Lanes } from "./support/lanes.ts";

/** The CRDs change while the operator runs. These tests have a control plane of their own. */
let plane: OwnedControlPlane;
let world: Lanes;
beforeAll(async () => {
  plane = await startControlPlane();
  await installOperator(plane);
  world = await Lanes.create({ accounts: 4, plane });
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await plane[Symbol.asyncDispose]();
});

const established = (): Promise<string> =>
  plane.kubectlOutput(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);

interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: { versions: CrdVersion[] };
}
interface CrdVersion {
  name: string;
  storage: boolean;
  schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } };
}

/**
 * Updates the CRD of VaultSecrets as a later release would: a field that this one does not know,
 * and another stored version.
 */
async function upgradeCrd(): Promise<void> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/vaultsecrets.vaultsync.dev";
  const crd = JSON.parse((await plane.request("GET", path)).body) as Crd;
  const [served] = crd.spec.versions;
  served!.schema.openAPIV3Schema.properties.spec.properties["future"] = { type: "string" };
  crd.spec.versions = [
    { ...served!, storage: false },
    { ...served!, name: "v1beta1", storage: true },
  ];
  expect((await plane.request("PUT", path, crd)).status).toBe(200);
}

test("K9: resources are synced under a CRD with another stored version and unknown fields", async () => {
  const { operator } = world;
  await using lane = await world.lane("k9-old");
  await upgradeCrd();
  const beta = `/apis/vaultsync.dev/v1beta1/namespaces/${world.namespace}/vaultsecrets/${lane.name}`;
  await waitUntil(
    "the new version is served",
    async () => (await plane.request("GET", beta)).status === 200,
    30_000,
  );
  // Stored as v1alpha1 so far.
  const value = await lane.protect();
  await lane.inSync();
  // The operator may write the status between the two requests.
  await waitUntil("a field of the new version is stored", async () => {
    const object = JSON.parse((await plane.request("GET", beta)).body) as { spec: object };
    return (
      (await plane.request("PUT", beta, { ...object, spec: { ...object.spec, future: "unknown" } }))
        .status === 200
    );
  });
  expect(JSON.parse((await plane.request("GET", beta)).body)).toMatchObject({
    spec: { future: "unknown" },
  });
  await using created = await world.lane("k9-new");
  const next = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value, next]);
  expect(created.written).toEqual([created.values[0]]);
  expect(world.history.versions("Secret", lane.name).length).toBe(3);
  expect(operator.exited).toBe(false);
});

test("K9: CRDs that are updated, deleted and installed again at run time do not end the operator", async () => {
  const { operator } = world;
  await using lane = await world.lane("k9-first");
  await plane.kubectlOutput(["annotate", "crd", "--all", "example.com/updated=true"]);
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);

  await plane.kubectlOutput(["annotate", "crd", "--all", "vaultsync.dev/confirm-delete=true"]);
  await plane.kubectlOutput(["delete", "-k", "crds", "--timeout=60s"]);
  await plane.kubectlOutput(["apply", "-k", "crds"]);
  await established();
  await using again = await world.lane("k9-second");
  const next = await again.protect();
  await again.inSync();
  expect(again.written).toEqual([again.values[0], next]);
  const resource = await world.history.until("VaultSecret", again.name, isReady);
  expect(condition(resource, "Ready")?.reason).toBe("Synced");
  expect(operator.exited).toBe(false);
});
