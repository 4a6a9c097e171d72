import { beforeAll, describe, expect, test } from "vitest";
import { sharedControlPlane } from "../kube/control-plane.ts";
import { chosenRelease } from "./binaries/version.ts";
import type { ControlPlane } from "./control-plane.ts";

let controlPlane: ControlPlane;
beforeAll(async () => {
  controlPlane = await sharedControlPlane();
});

describe("ControlPlane", () => {
  test("is ready and has the built version", async () => {
    expect((await controlPlane.request("GET", "/readyz")).body).toBe("ok");
    const version = await controlPlane.kubectl(["version", "--output=json"]);
    expect(JSON.parse(version.stdout)).toMatchObject({
      serverVersion: { major: "1", minor: chosenRelease().version.split(".")[1] },
    });
  });

  test("createNamespace waits for a default ServiceAccount whose token is valid", async () => {
    const namespace = await controlPlane.createNamespace("account");
    const kubeconfig = await controlPlane.kubeconfigFor({ serviceAccount: "default", namespace });
    const whoami = await controlPlane.kubectl(
      ["auth", "whoami", "--output=jsonpath={.status.userInfo.username}"],
      {
        kubeconfig,
      },
    );
    expect(whoami).toEqual({
      stdout: `system:serviceaccount:${namespace}:default`,
      stderr: "",
      code: 0,
    });
  });

  test("garbage-collects the dependents of a deleted owner", async () => {
    const namespace = await controlPlane.createNamespace("garbage");
    const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
    const owner = await controlPlane.request("POST", configMaps, { metadata: { name: "owner" } });
    const { uid } = JSON.parse(owner.body).metadata;
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    const owned = await controlPlane.request("POST", configMaps, {
      metadata: { name: "owned", ownerReferences },
    });
    expect(owned.status).toBe(201);
    const deleted = await controlPlane.kubectl(["delete", "configmap", "owner"], { namespace });
    expect(deleted.code).toBe(0);
    await expect
      .poll(async () => (await controlPlane.request("GET", `${configMaps}/owned`)).status, {
        timeout: 30_000,
      })
      .toBe(404);
  });

  test("deletes a namespace with its content", async () => {
    const namespace = await controlPlane.createNamespace("ending");
    expect((await controlPlane.kubectl(["create", "configmap", "left"], { namespace })).code).toBe(
      0,
    );
    expect(
      (await controlPlane.kubectl(["delete", "namespace", namespace, "--timeout=50s"])).code,
    ).toBe(0);
    expect((await controlPlane.request("GET", `/api/v1/namespaces/${namespace}`)).status).toBe(404);
  });

  test("denies an unprivileged user by RBAC and names the denied request", async () => {
    const kubeconfig = await controlPlane.kubeconfigFor({ user: "stranger" });
    const denied = await controlPlane.kubectl(["get", "secrets"], {
      kubeconfig,
      namespace: "default",
    });
    expect(denied.code).toBe(1);
    expect(denied.stderr).toContain('User "stranger" cannot list resource "secrets"');
  });

  test("kubeconfigFor lists the users when the requested one is unknown", async () => {
    await expect(controlPlane.kubeconfigFor({ user: "unknown" })).rejects.toThrow(
      /unknown user "unknown", expected one of admin, .*stranger/,
    );
  });

  test("kubectl passes input and returns the error output and exit code", async () => {
    const namespace = await controlPlane.createNamespace("input");
    const manifest = JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied" },
      data: { a: "1" },
    });
    const applied = await controlPlane.kubectl(["apply", "--filename=-"], {
      input: manifest,
      namespace,
    });
    expect(applied).toEqual({ stdout: "configmap/applied created\n", stderr: "", code: 0 });
    const missing = await controlPlane.kubectl(["get", "configmap", "missing"], { namespace });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain('"missing" not found');
  });
});

describe("audit log", () => {
  test("counts requests by user, verb, resource and namespace", async () => {
    const namespace = await controlPlane.createNamespace("audit");
    const kubeconfig = await controlPlane.kubeconfigFor({ serviceAccount: "default", namespace });
    const user = `system:serviceaccount:${namespace}:default`;
    const before = await controlPlane.auditMark();
    for (const name of ["one", "two", "three"])
      await controlPlane.kubectl(["get", "secret", name], { kubeconfig, namespace });
    await controlPlane.kubectl(["get", "configmap", "one"], { kubeconfig, namespace });
    const since = { since: before };
    expect(
      await controlPlane.countRequests({ user, verb: "get", resource: "secrets" }, since),
    ).toBe(3);
    expect(
      await controlPlane.countRequests({ user, resource: "secrets", name: "two" }, since),
    ).toBe(1);
    expect(await controlPlane.countRequests({ user, verb: ["create", "update"] }, since)).toBe(0);
    expect(await controlPlane.countRequests({ namespace, user, subresource: "" }, since)).toBe(4);
  });

  test("counts a watch once, while it runs and after its end", async () => {
    const namespace = await controlPlane.createNamespace("watch");
    const watch = { verb: "watch", resource: "configmaps", namespace };
    const path = `/api/v1/namespaces/${namespace}/configmaps?watch=1&timeoutSeconds=2`;
    const running = controlPlane.request("GET", path);
    await expect.poll(() => controlPlane.countRequests(watch)).toBe(1);
    await running;
    expect(await controlPlane.countRequests(watch)).toBe(1);
  });

  test("contains no body of a Secret", async () => {
    const namespace = await controlPlane.createNamespace("metadata");
    const canary = "canary-5f0c2e9b7d";
    const secret = { metadata: { name: "kept" }, stringData: { key: canary } };
    expect(
      (await controlPlane.request("POST", `/api/v1/namespaces/${namespace}/secrets`, secret))
        .status,
    ).toBe(201);
    const events = await controlPlane.auditEvents();
    const written = events.filter(
      (event) => event.objectRef?.namespace === namespace && event.objectRef.resource === "secrets",
    );
    expect(written).toHaveLength(1);
    expect(JSON.stringify(written)).not.toContain(canary);
  });
});
