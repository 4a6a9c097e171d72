import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { sharedControlPlane } from "../support/kube/control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";

const root = join(import.meta.dirname, "..", "..");
const folders = ["crds", "deploy/cluster", "deploy/overlays/cluster-wide"].map((folder) => join(root, folder));
const account = "--as=system:serviceaccount:vaultsync-system:vaultsync";

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
  for (const folder of folders) {
    const applied = await controlPlane.kubectl(["apply", "--kustomize", folder]);
    if (applied.code !== 0) throw new Error(applied.stderr);
  }
});

async function may(verb: string, resource: string, ...more: string[]): Promise<string> {
  return (await controlPlane.kubectl(["auth", "can-i", verb, resource, account, ...more])).stdout.trim();
}

describe("deploy", () => {
  test("applying the manifests again changes nothing", async () => {
    const changed: string[] = [];
    for (const folder of folders) {
      const { code, stdout } = await controlPlane.kubectl(["apply", "--kustomize", folder]);
      expect(code).toBe(0);
      const lines = stdout.trim().split("\n");
      changed.push(...lines.filter((line) => !line.endsWith(" unchanged")));
    }
    expect(changed).toEqual([]);
  });

  test("the overlays have an image to set, and neither the CRDs nor their policy", async () => {
    for (const overlay of ["cluster-wide", "namespaced"]) {
      const { stdout } = await controlPlane.kubectl(["kustomize", join(root, "deploy/overlays", overlay)]);
      expect(stdout).toContain("image: REGISTRY/vaultsync:0.1.0");
      expect(stdout).not.toMatch(/^kind: (?:CustomResourceDefinition|ValidatingAdmission)/mu);
    }
  });

  test.each([
    ["view", "list", "yes"],
    ["view", "create", "no"],
    ["edit", "create", "yes"],
    ["edit", "deletecollection", "yes"],
    ["admin", "patch", "yes"],
  ])("a user with the role %s of Kubernetes may %s the custom resources: %s", async (role, verb, allowed) => {
    const namespace = await controlPlane.createNamespace("roles");
    const user = `${role}-of-${namespace}`;
    await controlPlane.kubectl(["create", "rolebinding", role, `--clusterrole=${role}`, `--user=${user}`, "-n", namespace]);
    const mayAll = async (): Promise<string> => {
      const kinds = ["vaultconnections", "vaultsecrets", "vaultfiles", "vaultpushes"];
      const responses = kinds.map((kind) => controlPlane.kubectl(["auth", "can-i", verb, kind, `--as=${user}`, "-n", namespace]));
      return [...new Set((await Promise.all(responses)).map(({ stdout }) => stdout.trim()))].join();
    };
    await expect.poll(mayAll, { timeout: 20_000 }).toBe(allowed);
    const cluster = ["auth", "can-i", "list", "clustervaultconnections", `--as=${user}`];
    expect((await controlPlane.kubectl(cluster)).stdout.trim()).toBe("no");
  });

  test("the pod is admitted by its namespace under Pod Security restricted", async () => {
    const pods = ["get", "pods", "--namespace=vaultsync-system", "--output=jsonpath={.items[*].status.phase}"];
    await expect.poll(async () => (await controlPlane.kubectl(pods)).stdout, { timeout: 20_000 }).toMatch(/^Pending/u);
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
