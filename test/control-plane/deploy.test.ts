import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedControlPlane } from "../support/kube/control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";

const base = join(import.meta.dirname, "..", "..", "deploy", "base");
const account = "--as=system:serviceaccount:vaultsync-system:vaultsync";

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  const applied = await controlPlane.kubectl(["apply", "--kustomize", base]);
  if (applied.code !== 0) throw new Error(applied.stderr);
});

async function may(verb: string, resource: string, ...more: string[]): Promise<string> {
  return (await controlPlane.kubectl(["auth", "can-i", verb, resource, account, ...more])).stdout.trim();
}

describe("deploy/base", () => {
  test("applying the manifests again changes nothing", async () => {
    const again = await controlPlane.kubectl(["apply", "--kustomize", base]);
    expect(again.code).toBe(0);
    expect(
      again.stdout
        .trim()
        .split("\n")
        .filter((line) => !line.endsWith(" unchanged")),
    ).toEqual([]);
  });

  test("the pod is admitted by its namespace under Pod Security restricted", async () => {
    const pods = ["get", "pods", "--namespace=vaultsync-system", "--output=jsonpath={.items[*].status.phase}"];
    await expect.poll(async () => (await controlPlane.kubectl(pods)).stdout, { timeout: 20_000 }).toBe("Pending");
    const bad = { metadata: { name: "privileged" }, spec: { containers: [{ name: "c", image: "i" }] } };
    const denied = await controlPlane.request("POST", "/api/v1/namespaces/vaultsync-system/pods", bad);
    expect(denied.body).toContain('violates PodSecurity \\"restricted:latest\\"');
  });

  test.each([
    ["list", "vaultsecrets", "--all-namespaces"],
    ["watch", "secrets", "--all-namespaces"],
    ["watch", "clustervaultconnections"],
    ["update", "clustervaultconnections", "--subresource=status"],
    ["list", "namespaces"],
    ["update", "vaultsecrets", "--subresource=status", "--namespace=default"],
    ["create", "configmaps", "--namespace=default"],
    ["patch", "secrets", "--namespace=default"],
    ["patch", "events.events.k8s.io", "--namespace=default"],
    ["update", "leases", "--namespace=vaultsync-system"],
  ])("RBAC allows the operator to %s %s", async (verb, resource, ...more) => {
    expect(await may(verb, resource, ...more)).toBe("yes");
  });

  test.each([
    ["update", "vaultsecrets", "--namespace=default"],
    ["delete", "vaultconnections", "--namespace=default"],
    ["update", "clustervaultconnections"],
    ["update", "namespaces"],
    ["get", "leases", "--namespace=default"],
    ["create", "leases", "--namespace=default"],
    ["create", "serviceaccounts", "--subresource=token", "--namespace=vaultsync-system"],
    ["get", "pods", "--namespace=vaultsync-system"],
    ["list", "nodes"],
    ["delete", "namespaces"],
    ["impersonate", "users"],
    ["escalate", "clusterroles"],
    ["bind", "clusterroles"],
    ["*", "*"],
  ])("RBAC denies the operator to %s %s", async (verb, resource, ...more) => {
    expect(await may(verb, resource, ...more)).toBe("no");
  });

  test("requests for the lease have the leader-election priority level", async () => {
    const level = ["get", "flowschema", "vaultsync-lease", "--output=jsonpath={.spec.priorityLevelConfiguration.name}"];
    expect((await controlPlane.kubectl(level)).stdout).toBe("leader-election");
  });
});
