import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import { chart, Helm } from "../../support/helm/helm.ts";
import { sharedControlPlane } from "../../support/kube/control-plane.ts";

let plane: ControlPlane;
let helm: Helm;
beforeAll(async () => {
  plane = await sharedControlPlane();
  helm = await Helm.create(plane.kubeconfigPath);
});
afterAll(() => helm[Symbol.asyncDispose]());

describe("helm lint finds nothing in the chart", () => {
  test.each([
    ["with its defaults", []],
    ["without a watch of Secrets", ["--set=targetWatch=false"]],
    ["for some namespaces", ["--set=namespaces={shop,billing}"]],
  ])("%s", async (_, values) => {
    const { code, stdout, stderr } = await helm.run(["lint", "--strict", chart, ...values]);
    expect(stderr).toBe("");
    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
    expect(code).toBe(0);
  });
});

async function notes(namespace: string, ...values: string[]): Promise<string> {
  // The objects exist: other tests install them with kubectl.
  const release = ["install", "vaultsync", chart, "--dry-run=server", "--take-ownership"];
  const { code, stdout, stderr } = await helm.run([...release, `--namespace=${namespace}`, ...values]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.slice(stdout.indexOf("NOTES:"));
}

describe("the notes of the release", () => {
  const image = "--set=image.repository=registry.example.com/vaultsync";

  test("warn of the placeholder of the image and of missing labels, and of nothing else", async () => {
    const namespace = await plane.createNamespace("notes");
    const unset = await notes(namespace);
    expect(unset).toContain("WARNING: no image is set");
    const label = unset.split("\n").find((line) => line.startsWith("  kubectl label ")) ?? "";
    const { code } = await plane.kubectl(label.trim().split(" ").slice(1));
    expect(code).toBe(0);
    expect(await notes(namespace, image)).not.toContain("WARNING");
    // The label is also that of the policy against the deletion.
    const confirm = "vaultsync.dev/confirm-delete=true";
    await plane.kubectl(["annotate", "namespace", namespace, confirm]);
    await plane.kubectl(["delete", "namespace", namespace, "--wait=false"]);
  });

  test("name the namespaces, and the next steps", async () => {
    expect(await notes("default", image)).toContain("for all namespaces");
    const some = await notes("default", image, "--set=namespaces={shop,billing}");
    expect(some).toContain("for the namespaces shop, billing");
    expect(some).toContain("kind: VaultConnection");
  });
});
