import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { customResourceDefinitions } from "../../src/operator/api/crd.ts";
import { FaultProxy } from "../lab/real/fault-proxy.ts";
import { error, on, reset } from "../faults/support/faults.ts";
import { actionsOf, healthOf } from "./support/health.ts";
import { expiringCertificate } from "../lab/certificates.ts";
import { World } from "../lab/real/world.ts";
import {
  condition,
  type ObservedObject,
  vaultFile,
  vaultPush,
  vaultSecret,
} from "../lab/real/resources.ts";

/**
 * The health that Argo CD and kstatus compute from what the operator reports, as in the table of
 * docs/gitops.md.
 */
let world: World;
let proxy: FaultProxy;
let unseen: ObservedObject[];

const VIA_PROXY = { connectionRef: { name: "proxied" } };

const crd = z.object({ spec: z.object({ names: z.object({ kind: z.string() }) }) });

/** Returns a resource with a change of its spec. */
function withSpec(object: object, change: object): object {
  const { spec, ...rest } = object as { readonly spec: object };
  return { ...rest, spec: { ...spec, ...change } };
}

/** Returns another connection to a vault, by default through the proxy. */
const connection = (name: string, change: object): object =>
  world.anotherConnection(name, { url: proxy.url, ...change });

const secretOf = (name: string, type?: string): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  stringData: { password: world.canaries.text(name) },
  ...(type !== undefined && { type }),
});
const password = { secretKey: "password", remoteRef: { key: "pushed" } };

beforeAll(async () => {
  world = await World.create();
  proxy = await FaultProxy.start({ url: world.vault.url });
  await world.protect("db", world.canaries.text("db"));
  await world.protect("db", world.canaries.text("newer"));
  await world.protect("temporary", expiringCertificate());
  await world.upload("web.conf", Buffer.from(world.canaries.text("file")));
  await world.apply(
    connection("proxied", {}),
    connection("misspelled", { email: "nobody@example.com" }),
    connection("unreachable", { url: "http://127.0.0.1:9" }),
    vaultSecret("ready", { password: "db" }),
    vaultSecret("pinned", { password: { key: "db", version: 1 } }),
    vaultSecret("expiring", { password: "temporary" }),
    vaultSecret("missing", { password: "absent" }),
    withSpec(vaultSecret("alone", { password: "db" }), { connectionRef: { name: "absent" } }),
    withSpec(vaultSecret("waiting", { password: "db" }), {
      connectionRef: { name: "unreachable" },
    }),
    withSpec(vaultSecret("suspended", { password: "db" }), { suspend: true }),
    secretOf("taken"),
    vaultSecret("taken", { password: "db" }),
    vaultSecret("invalid", { password: "db" }, { type: "example.com/other" }),
    vaultSecret("unversioned", { password: { key: "db", version: 9 } }),
    withSpec(vaultSecret("stale", { password: "db" }), VIA_PROXY),
    withSpec(vaultSecret("retried", { password: "db" }), VIA_PROXY),
    vaultFile("web", [{ filename: "web.conf" }], { kind: "ConfigMap" }),
    secretOf("pushed"),
    vaultPush("pushed", [password], { deletionPolicy: "Delete" }),
  );
  unseen = await Promise.all(
    ["VaultSecret", "VaultFile", "VaultPush", "VaultConnection"].map(firstOf),
  );
  await world.startOperator();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

async function firstOf(kind: string): Promise<ObservedObject> {
  const [first] = await world.list(kind);
  if (first === undefined) throw new Error(`no ${kind}`);
  return { ...first, apiVersion: "vaultsync.dev/v1alpha1", kind };
}

/** Waits until a resource has a condition with this status or reason, and returns its health. */
async function healthWhen(
  kind: string,
  name: string,
  type: string,
  value: string,
): Promise<object> {
  const hasCondition = (one: ObservedObject): boolean => {
    const { status, reason } = condition(one, type) ?? {};
    return status === value || reason === value;
  };
  const object = await world.until(kind, name, hasCondition, 60_000);
  const [health] = await healthOf([object]);
  return {
    kstatus: health?.kstatus.status,
    argo: health?.argo.status,
    message: health?.argo.message,
  };
}

const matching = (message: RegExp): unknown => expect.stringMatching(message);
const healthy = (message: RegExp) => ({
  kstatus: "Current",
  argo: "Healthy",
  message: matching(message),
});
const progressing = (message: RegExp) => ({
  kstatus: "InProgress",
  argo: "Progressing",
  message: matching(message),
});
const degraded = (message: RegExp) => ({
  kstatus: "Failed",
  argo: "Degraded",
  message: matching(message),
});

test("a resource that no operator has seen is in progress, for both tools", async () => {
  for (const { kstatus, argo } of await healthOf(unseen)) {
    expect(kstatus.status).toBe("InProgress");
    expect(argo.status).toBe("Progressing");
    expect(argo.message).toBe("waiting for the operator to reconcile generation 1");
  }
  // CRDs without a default for the status: kstatus does not notice that no operator has seen the
  // resource.
  for (const { kstatus, argo } of await healthOf(
    unseen.map((one) => ({ ...one, status: undefined })),
  )) {
    expect(kstatus.status).toBe("Current");
    expect(argo.status).toBe("Progressing");
  }
});

test.concurrent.each([
  ["VaultSecret", "ready", "Ready", "True", healthy(/^Synced: /u)],
  ["VaultFile", "web", "Ready", "True", healthy(/^Synced: /u)],
  ["VaultPush", "pushed", "Ready", "True", healthy(/^Synced: /u)],
  ["VaultConnection", "vault", "Ready", "True", healthy(/^Synced: /u)],
  ["VaultSecret", "pinned", "UpdateAvailable", "True", healthy(/; UpdateAvailable: .*db 1 → 2$/u)],
  [
    "VaultSecret",
    "expiring",
    "ExpiringSoon",
    "True",
    healthy(/; ExpiringSoon: .*temporary at \S+$/u),
  ],
  ["VaultSecret", "missing", "Ready", "SourceMissing", progressing(/^SourceMissing: absent /u)],
  ["VaultSecret", "alone", "Ready", "ConnectionNotFound", progressing(/^ConnectionNotFound: /u)],
  ["VaultSecret", "waiting", "Ready", "ConnectionNotReady", progressing(/^ConnectionNotReady: /u)],
  [
    "VaultConnection",
    "unreachable",
    "Ready",
    "VaultUnreachable",
    progressing(/^VaultUnreachable: /u),
  ],
  ["VaultConnection", "misspelled", "Stalled", "AuthFailed", degraded(/^AuthFailed: /u)],
  ["VaultSecret", "taken", "Stalled", "TargetConflict", degraded(/^TargetConflict: /u)],
  [
    "VaultSecret",
    "invalid",
    "Stalled",
    "InvalidSpec",
    degraded(/^InvalidSpec: spec\.target\.type/u),
  ],
  ["VaultSecret", "unversioned", "Stalled", "VersionNotFound", degraded(/^VersionNotFound: /u)],
] as const)("the health of %s %s when %s is %s", async (kind, name, type, value, expected) => {
  expect(await healthWhen(kind, name, type, value)).toEqual(expected);
});

test("the actions of Argo CD synchronize, suspend and resume a resource", async () => {
  const { namespace } = world;
  await world.apply(vaultSecret("acted-on", { password: "db" }));
  const act = async (name: string): Promise<void> => {
    await world.ready("VaultSecret", "acted-on");
    const path = `/apis/vaultsync.dev/v1alpha1/namespaces/${namespace}/vaultsecrets/acted-on`;
    const { body } = await world.plane.request("GET", path);
    const { enabled, after } = await actionsOf(JSON.parse(body));
    expect(enabled).toContain(name);
    const changed = JSON.stringify(await after(name));
    const { code, stderr } = await world.plane.kubectl(["replace", "-f", "-"], {
      namespace,
      input: changed,
    });
    expect(code, stderr).toBe(0);
  };
  await act("sync");
  const synced = await world.until("VaultSecret", "acted-on", (one) =>
    /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/u.test(String(one.status?.["lastForceSync"])),
  );
  expect((await actionsOf(synced)).enabled.toSorted()).toEqual(["suspend", "sync"]);
  await act("suspend");
  const suspended = await world.untilReason("VaultSecret", "acted-on", "Suspended");
  const { enabled, after } = await actionsOf(suspended);
  expect(enabled).toEqual(["resume"]);
  expect(await after("resume")).toMatchObject({ spec: { suspend: false } });
});

test("the check and the actions are added to argocd-cm, whose other keys stay", async () => {
  const { plane } = world;
  const path = "/api/v1/namespaces/argocd";
  expect(
    (await plane.request("POST", "/api/v1/namespaces", { metadata: { name: "argocd" } })).status,
  ).toBe(201);
  const theirs = { metadata: { name: "argocd-cm" }, data: { url: "https://argocd.example.com" } };
  expect((await plane.request("POST", `${path}/configmaps`, theirs)).status).toBe(201);
  const { code, stderr } = await plane.kubectl([
    "apply",
    "--server-side",
    "-k",
    "deploy/gitops/argocd",
  ]);
  expect(code, stderr).toBe(0);
  const { body } = await plane.request("GET", `${path}/configmaps/argocd-cm`);
  await plane.request("DELETE", path);
  const health = await readFile("deploy/gitops/argocd/health.lua", "utf8");
  const definitions = [...customResourceDefinitions().values()].map(
    (definition) => crd.parse(definition).spec.names.kind,
  );
  const actions = await readFile("deploy/gitops/argocd/actions.yaml", "utf8");
  const keys = [
    ...definitions.map((kind) => [`resource.customizations.health.vaultsync.dev_${kind}`, health]),
    ...definitions
      .filter((kind) => !kind.endsWith("Connection"))
      .map((kind) => [`resource.customizations.actions.vaultsync.dev_${kind}`, actions]),
  ];
  expect(JSON.parse(body)).toMatchObject({
    metadata: { labels: { "app.kubernetes.io/part-of": "argocd" } },
    data: { ...theirs.data, ...Object.fromEntries(keys) },
  });
});

test("a suspended resource is Suspended in Argo CD; kstatus knows only that it is in progress", async () => {
  const expected = {
    kstatus: "InProgress",
    argo: "Suspended",
    message: matching(/^Suspended: spec\.suspend is true/u),
  };
  expect(await healthWhen("VaultSecret", "suspended", "Ready", "Suspended")).toEqual(expected);
});

test("a retried resource is in progress although it is ready, and a stale one stays healthy", async () => {
  await world.ready("VaultSecret", "stale");
  await world.ready("VaultSecret", "retried");
  proxy.inject(on(["expose", "version_expose"], error(503, "unavailable")));
  await world.apply(
    withSpec(
      vaultSecret("retried", { password: "db", more: { key: "db", version: 1 } }),
      VIA_PROXY,
    ),
  );
  expect(await healthWhen("VaultSecret", "retried", "Reconciling", "True")).toEqual(
    progressing(/^[A-Za-z]+: /u),
  );
  proxy.inject(reset);
  expect(await healthWhen("VaultSecret", "stale", "Stale", "True")).toEqual(
    healthy(/^Synced: .*; Stale: /u),
  );
});

test("a change that no operator has seen, and a deletion, are in progress", async () => {
  await world.ready("VaultPush", "pushed");
  await world.ready("VaultSecret", "ready");
  await world.operator.stop();
  await world.apply(vaultSecret("ready", { password: { key: "db", version: 1 } }));
  const outdated = await world.ready("VaultSecret", "ready");
  const { code } = await world.plane.kubectl(["delete", "vaultpush", "pushed", "--wait=false"], {
    namespace: world.namespace,
  });
  expect(code).toBe(0);
  const deleted = await world.ready("VaultPush", "pushed");
  const [behind, deleting] = await healthOf([outdated, deleted]);
  expect(behind).toMatchObject({
    kstatus: { status: "InProgress" },
    argo: { status: "Progressing", message: "waiting for the operator to reconcile generation 2" },
  });
  expect(deleting).toMatchObject({
    kstatus: { status: "Terminating" },
    argo: { status: "Progressing", message: "being deleted" },
  });
});
