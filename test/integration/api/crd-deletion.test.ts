import { afterAll, beforeAll, expect, test } from "vitest";
import { customResourceDefinitions } from "../../../src/operator/api/crd.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";
import type { ControlPlane } from "../../lab/control-plane/control-plane.ts";
import { sharedControlPlane } from "../../lab/kube/control-plane.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";

const root = new URL("../../../", import.meta.url).pathname;
const names = Array.from(customResourceDefinitions().keys(), (file) => {
  const [group = "", plural = ""] = file.replace(".yaml", "").split("_");
  return `${plural}.${group}`;
});
const policy = `${root}deploy/chart/files/cluster/crd-deletion-policy.yaml`;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await sharedControlPlane();
  await installCrds(plane);
  await plane.kubectlOutput(["apply", "--server-side", "--force-conflicts", "-f", policy]);
});
afterAll(() => plane.kubectl(["annotate", "crd", ...names, "vaultsync.dev/confirm-delete-"]));

/**
 * Returns the response to a deletion that the API server checks but does not execute, because other
 * tests need the CRDs.
 */
function deletion(crd: string): Promise<{ readonly status: number; readonly body: string }> {
  return plane.request(
    "DELETE",
    `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}?dryRun=All`,
  );
}

const statuses = (): Promise<number[]> =>
  Promise.all(names.map(async (name) => (await deletion(name)).status));

async function confirm(value: string): Promise<void> {
  const { code, stderr } = await plane.kubectl([
    "annotate",
    "--overwrite",
    "crd",
    ...names,
    `vaultsync.dev/confirm-delete=${value}`,
  ]);
  expect(code, stderr).toBe(0);
}

test("the policy of deploy/cluster denies to delete a CRD until it is confirmed", async () => {
  // The API server compiles a new policy within seconds.
  await waitUntil("the policy is in force", async () =>
    (await statuses()).every((status) => status === 403),
  );
  expect((await deletion(names[0] ?? "")).body).toContain("vaultsync.dev/confirm-delete=true");
  await confirm("yes");
  expect(await statuses()).toEqual(names.map(() => 403));
  await confirm("true");
  expect(await statuses()).toEqual(names.map(() => 200));
});

test("the policy of deploy/cluster does not concern CRDs of others", async () => {
  const plural = "gadgets";
  const spec = {
    group: "others.example.com",
    scope: "Namespaced",
    names: { plural, singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  };
  const name = `${plural}.${spec.group}`;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec,
  };
  expect((await plane.request("POST", path, crd)).status).toBe(201);
  expect((await plane.request("DELETE", `${path}/${name}`)).status).toBe(200);
});
