import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { CONFIG_MAPS, SECRETS } from "../../src/operator/kube/resource.ts";
import type { AuditEvent } from "../lab/control-plane/audit.ts";
import type { ControlPlane } from "../lab/control-plane/control-plane.ts";
import { startApiProxy } from "../faults/support/api-proxy.ts";
import type { FaultProxy } from "../lab/real/fault-proxy.ts";
import { connect } from "../integration/kube/connect.ts";
import { isKubeError } from "../../src/operator/kube/kube-error.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { startEventRecorder } from "../lab/kube/event-recorder.ts";
import { withoutStreamedLists } from "./support/without-streamed-lists.ts";
import { type Manifest, manifestsOf, permissionOf, permissionsOf } from "../lab/real/granted.ts";
import { denialOf, repeatWithout } from "./support/without-permission.ts";
import { workload, installRollouts } from "../lab/real/workloads.ts";
import { World } from "../lab/real/world.ts";
import { condition, vaultFile, vaultPush, vaultSecret } from "../lab/real/resources.ts";

/**
 * An operator with deploy/namespaced only, on an API server that does not stream lists: it needs
 * `list`, where others need `watch` only.
 */
const forever = new AbortController().signal;

let plane: ControlPlane;
let proxy: FaultProxy;
let world: World;
let operatorNamespace: string;
let own: Manifest[];
let tenant: Manifest[];
let mark: number;

beforeAll(async () => {
  plane = await sharedControlPlane();
  operatorNamespace = await plane.createNamespace("operator");
  const rbac = ["Role", "RoleBinding", "ServiceAccount"];
  own = (await manifestsOf(plane, "deploy/namespaced", operatorNamespace)).filter(({ kind }) =>
    rbac.includes(kind),
  );
  tenant = await manifestsOf(plane, "deploy/namespaced/tenant", operatorNamespace);
  await plane.apply(own);

  const started = await startApiProxy();
  proxy = started.proxy;
  withoutStreamedLists(proxy);
  mark = await plane.auditMark();
  const account = { serviceAccount: "vaultsync", namespace: operatorNamespace };
  world = await World.create({ account, ...started.api });
  await plane.apply(tenant, world.namespace);
  await installRollouts(plane);
  await world.startClusterOperator([
    "--namespaces",
    world.namespace,
    "--shards",
    "2",
    "--restart-window",
    "1s",
  ]);
});

afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await plane.request("DELETE", `/api/v1/namespaces/${operatorNamespace}`);
});

/** Returns the operator's requests, since the start of this file by default. */
async function requests(since = mark): Promise<AuditEvent[]> {
  const user = `system:serviceaccount:${operatorNamespace}:vaultsync`;
  return (await plane.auditEvents({ since })).filter((event) => event.user.username === user);
}

test("deploy/namespaced grants the rules of deploy/base, without a ClusterRole", async () => {
  const base = await manifestsOf(plane, "deploy/base", operatorNamespace);
  const all = await manifestsOf(plane, "deploy/namespaced", operatorNamespace);
  expect(all.filter(({ kind }) => kind.startsWith("ClusterRole"))).toEqual([]);
  expect(tenant.find(({ kind }) => kind === "Role")?.rules).toEqual(
    base.find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "vaultsync")
      ?.rules,
  );
});

test("with Roles only, targets are created, repaired, changed and removed", async () => {
  const first = world.canaries.text("first");
  const second = world.canaries.text("second");
  await world.protect("db", first);
  await world.upload("web.conf", Buffer.from(world.canaries.text("file")));
  const files = [{ filename: "web.conf" }];
  await world.apply(
    vaultSecret("db", { password: "db" }),
    vaultFile("web", files, { kind: "ConfigMap" }),
  );
  await world.apply(vaultSecret("none", { password: "none" }));
  await world.ready("VaultSecret", "db");
  await world.ready("VaultFile", "web");
  await world.untilReason("VaultSecret", "none", "SourceMissing");

  const { namespace } = world;
  for (const kind of ["secret/db", "configmap/web"]) {
    await plane.kubectl(
      ["patch", kind, "--type=merge", "-p", JSON.stringify({ data: { extra: "ZHJpZnQ=" } })],
      { namespace },
    );
  }
  await world.until("Secret", "db", ({ data }) => !("extra" in data));
  await world.until("ConfigMap", "web", ({ data }) => !("extra" in data));

  await world.protect("db", second);
  const changed = Buffer.from(world.canaries.text("changed file"));
  await world.upload("web.conf", changed);
  await world.has("db", "password", second);
  await world.until("ConfigMap", "web", ({ data }) => data["web.conf"] === changed.toString());

  const renamed = { name: "renamed" };
  await world.apply(
    vaultSecret("db", { password: "db" }, renamed),
    vaultFile("web", files, { kind: "ConfigMap", ...renamed }),
  );
  await world.gone("Secret", "db");
  await world.gone("ConfigMap", "web");
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

test("workloads of each kind are restarted", async () => {
  const kinds = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
  await world.protect("restarts", world.canaries.text("restarts"));
  await world.apply(...kinds.map((kind) => workload(kind, "app")));
  const rolloutRestart = kinds.map((kind) => ({ kind, name: "app" }));
  const { spec, ...resource } = z
    .looseObject({ spec: z.looseObject({}) })
    .parse(vaultSecret("restarts", { password: "restarts" }));
  await world.apply({ ...resource, spec: { ...spec, rolloutRestart } });
  const isOwn = (annotation: string) => async (): Promise<boolean> => {
    const types = kinds.map((kind) =>
      kind === "Rollout" ? "rollouts.argoproj.io" : `${kind.toLowerCase()}s.apps`,
    );
    const { stdout } = await plane.kubectl(["get", types.join(","), "-o", "json"], {
      namespace: world.namespace,
    });
    return stdout.split(annotation).length - 1 === kinds.length;
  };
  await expect
    .poll(isOwn('"vaultsync.dev/restart-state"'), { timeout: 20_000, interval: 200 })
    .toBe(true);
  await world.protect("restarts", world.canaries.text("restarts again"));
  await expect
    .poll(isOwn('"vaultsync.dev/content"'), { timeout: 20_000, interval: 200 })
    .toBe(true);
});

test("with Roles only, a Secret is pushed, and its entry deleted with the VaultPush", async () => {
  const value = world.canaries.text("pushed");
  const source = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pushed" },
    stringData: { password: value },
  };
  const data = [{ secretKey: "password", remoteRef: { key: "pushed" } }];
  await world.apply(source, vaultPush("pushed", data, { deletionPolicy: "Delete" }));
  await world.ready("VaultPush", "pushed");
  expect((await world.caller.call("expose", { key_name: "pushed" })).json().key_value).toBe(value);
  await plane.kubectl(["delete", "vaultpush/pushed"], { namespace: world.namespace });
  expect((await world.caller.call("expose", { key_name: "pushed" })).status).toBe(404);
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

test("many removals wait for a confirmation, which the operator deletes, and are made", async () => {
  const names = Array.from({ length: 6 }, (_, n) => `many-${n}`);
  for (const name of names) await world.protect(name, world.canaries.text(name));
  await world.apply(
    ...names.map((name) => vaultSecret(name, { password: name }, { whenMissing: "Delete" })),
  );
  for (const name of names) await world.ready("VaultSecret", name);
  for (const name of names)
    expect((await world.caller.call("delete", { key_name: name })).status).toBe(200);
  // A list may be from between two deletions.
  await world.until(
    "VaultConnection",
    "vault",
    (one) => condition(one, "RemovalsHeld")?.message.includes("confirm-removals=6") === true,
  );
  const { namespace } = world;
  const confirm = (number: string) =>
    plane.kubectl(
      [
        "annotate",
        "vaultconnection/vault",
        "--overwrite",
        `vaultsync.dev/confirm-removals=${number}`,
      ],
      {
        namespace,
      },
    );
  expect((await confirm("6")).code).toBe(0);
  await world.until(
    "VaultConnection",
    "vault",
    (one) => condition(one, "RemovalsHeld") === undefined,
  );
  for (const name of names) await world.gone("Secret", name, 30_000);
  const { metadata } = await world.until("VaultConnection", "vault", () => true);
  expect(metadata.annotations ?? {}).not.toHaveProperty("vaultsync.dev/confirm-removals");

  const annotate = ["annotate", "vaultsecret/db", "vaultsync.dev/force-sync=now"];
  expect((await plane.kubectl(annotate, { namespace })).code).toBe(0);
  const wait = [
    "wait",
    "vaultsecret/db",
    "--for=jsonpath={.status.lastForceSync}=now",
    "--timeout=20s",
  ];
  expect((await plane.kubectl(wait, { namespace })).code).toBe(0);
});

test("the count of a repeated event is written", async () => {
  await using api = await connect(world.kubeconfig);
  const clock = new VirtualClock(Date.now());
  const { recorder, stop, running } = startEventRecorder(api, clock);
  const { metadata } = await world.ready("VaultSecret", "db");
  const about = {
    resource: vaultSecretKind,
    namespace: world.namespace,
    name: "db",
    uid: metadata.uid,
  };
  const record = (): void =>
    recorder.record({ ...about, type: "Normal", reason: "Test", action: "Test", note: "repeated" });
  record();
  await expect
    .poll(async () => (await requests()).map(permissionOf))
    .toContain("create events.k8s.io/events");
  await clock.advance(60_000);
  record();
  await expect
    .poll(async () => (await requests()).map(permissionOf))
    .toContain("patch events.k8s.io/events");
  stop.abort();
  await running;
});

test("no request is denied, and every permission of deploy/namespaced is used", async () => {
  await world.operator.stop();
  const events = await requests();
  expect(
    events.filter(({ responseStatus }) => responseStatus?.code === 403).map(permissionOf),
  ).toEqual([]);
  expect(
    events.filter(({ objectRef }) => objectRef !== undefined && objectRef.namespace === undefined),
  ).toEqual([]);
  for (const [namespace, manifests] of [
    [operatorNamespace, own],
    [world.namespace, tenant],
  ] as const) {
    const used = new Set(
      events.filter(({ objectRef }) => objectRef?.namespace === namespace).map(permissionOf),
    );
    const unused = [...permissionsOf(manifests)].filter((permission) => !used.has(permission));
    // The API server itself checks the permission for finalizers; the next test shows that it is
    // needed.
    expect(unused.filter((permission) => !permission.endsWith("/finalizers"))).toEqual([]);
  }
});

test("a request of the operator is denied without each single permission of deploy/namespaced", async () => {
  const events = await requests();
  for (const [namespace, manifests] of [
    [operatorNamespace, own],
    [world.namespace, tenant],
  ] as const) {
    const rules = manifests.flatMap(({ rules: some = [] }) => some);
    for (const { permission, status, message } of await repeatWithout(
      plane,
      rules,
      events,
      namespace,
    )) {
      expect(status).toBe(403);
      expect(message).toEqual(expect.stringContaining(denialOf(permission)));
    }
  }
});

test.each([
  ["VaultSecret", "db", SECRETS],
  ["VaultFile", "web", CONFIG_MAPS],
] as const)(
  "without the permission for the finalizers of a %s no target of it can be created",
  async (kind, owned, target) => {
    const { metadata } = await world.ready(kind, owned);
    await using api = await connect(world.kubeconfig);
    const create = (name: string): Promise<unknown> => {
      const owner = { apiVersion: "vaultsync.dev/v1alpha1", kind, name: owned, uid: metadata.uid };
      const ownerReferences = [{ ...owner, controller: true, blockOwnerDeletion: true }];
      const object = {
        apiVersion: "v1",
        kind: target.kind,
        metadata: { namespace: world.namespace, name, ownerReferences },
      };
      return api.create(target, object, forever);
    };
    const isDenied = (name: string): Promise<boolean> =>
      create(name).then(
        () => false,
        (error: unknown) => isKubeError(error, "Forbidden") && error.reason === "OwnerDenied",
      );
    const roles = tenant.filter(({ kind: of }) => of === "Role");
    await plane.apply(roles, world.namespace);
    let attempts = 0;
    const next = (): Promise<boolean> => isDenied(`attempt-${(attempts += 1)}`);
    await expect.poll(next, { timeout: 10_000 }).toBe(false);
    const without = roles.map(({ rules = [], ...role }) => ({
      ...role,
      rules: rules.map((rule) => ({
        ...rule,
        resources: rule.resources.filter(
          (resource) => resource !== `${kind.toLowerCase()}s/finalizers`,
        ),
      })),
    }));
    await plane.apply(without, world.namespace);
    await expect.poll(next, { timeout: 10_000 }).toBe(true);
  },
);
