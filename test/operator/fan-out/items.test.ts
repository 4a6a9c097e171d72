import { expect, test } from "vitest";
import {
  clusterVaultConnectionKind,
  clusterVaultSecretKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { NAMESPACES, SECRETS } from "../../../src/operator/kube/resource.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  account,
  ALL,
  corporate,
  createWorkload,
  freeze,
  keysIn,
  namespaces,
  ready,
  registry,
  sceneWith,
  spec,
  statusOf,
  TEAM,
  valueIn,
} from "./scene.ts";
import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { ClusterControllers } from "../../lab/simulated/api-server/cluster-controllers.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const { connectionRef, data } = spec() as { connectionRef: object; data: object[] };

const optional = (key: string) => ({ secretKey: key, remoteRef: { key }, optional: true });

/** The deadline of a secret becomes a later one, its former time passes, and a user deletes it. */
async function extendAndDelete(scene: SimulatedWorld, key_name: string): Promise<void> {
  await scene.settle(MINUTE);
  scene.vault().setDeadline(account, key_name, scene.clock.now() + 100 * DAY);
  await scene.settle(20 * MINUTE);
  scene.vault().act(account, "delete", { key_name });
  await scene.settle(MINUTE);
}

test("a deadline that changes while no namespace is selected removes nothing", async () => {
  await using scene = await sceneWith();
  scene.put(vaultSecretKind, { namespace: "other", name: "mine" }, { connectionRef, data });
  scene.vault().setDeadline(account, "login", scene.clock.now() + 10 * MINUTE);
  await scene.settle();
  for (const one of namespaces) scene.label(one, {});
  await extendAndDelete(scene, "login");
  for (const one of namespaces) scene.label(one, TEAM);
  await scene.settle(5 * MINUTE);
  expect(keysIn(scene, "jobs")).toEqual(["password"]);
});

test("a deadline that changes while a found name is not allowed removes nothing", async () => {
  const access = [
    { namespaceSelector: { matchLabels: { tier: "all" } }, secrets: ["*"] },
    { namespaceSelector: { matchLabels: {} }, secrets: ["bulk-a"] },
  ];
  const dataFrom = [{ find: { name: { regexp: "^bulk-" } } }];
  const nowhere = { namespaces: ["none"], namespaceSelector: undefined };
  await using scene = await sceneWith(nowhere, ALL, {}, ["bulk-a", "bulk-b"]);
  scene.label("other", { tier: "all" });
  for (const namespace of ["other", "jobs"])
    scene.put(vaultSecretKind, { namespace, name: "registry" }, { connectionRef, dataFrom });
  scene.vault().setDeadline(account, "bulk-b", scene.clock.now() + 10 * MINUTE);
  await scene.settle();
  scene.connectAccount(corporate, { access });
  await extendAndDelete(scene, "bulk-b");
  scene.connectAccount(corporate, ALL);
  await scene.settle(5 * MINUTE);
  expect(keysIn(scene, "jobs")).toEqual(["bulk-a", "bulk-b"]);
});

test("a namespace that never had names does not hide that a hold keeps them in others", async () => {
  const names = Array.from({ length: 12 }, (_, n) => `bulk-${n}`);
  await using scene = await sceneWith({}, ALL, {}, [...names, "keep"]);
  scene.label("blog", {});
  scene.put(clusterVaultSecretKind, registry, spec({ data: [...names, "keep"].map(optional) }));
  await scene.settle();
  for (const key_name of names) scene.vault().act(account, "delete", { key_name });
  await scene.settle(5 * MINUTE);
  scene.label("blog", TEAM);
  const more = Array.from({ length: 100 }, (_, n) => `more-${n}`);
  scene.vault().writeAs(account, more);
  for (const name of more) {
    const one = { connectionRef, data: [{ secretKey: "a", remoteRef: { key: name } }] };
    scene.put(vaultSecretKind, { namespace: "other", name }, one);
  }
  await scene.settle(MINUTE);
  await scene.restart(() => {
    scene.server.delete(clusterVaultConnectionKind, corporate);
    scene.connectAccount(corporate, ALL);
  });
  await scene.settle(15 * MINUTE);
  expect(keysIn(scene, "jobs")).toHaveLength(13);
});

test("a deadline next to a namespace without access is kept over a restart", async () => {
  const access = [{ namespaceSelector: { matchLabels: { tier: "web" } }, secrets: ["*"] }];
  const token = { secretKey: "token", remoteRef: { key: "token" } };
  await using scene = await sceneWith({ data: [...data, token] }, { access });
  for (const one of ["blog", "jobs"]) scene.label(one, { ...TEAM, tier: "web" });
  await scene.settle();
  scene.vault().setDeadline(account, "login", scene.clock.now() + 10 * MINUTE);
  await scene.settle();
  scene.label("blog", TEAM);
  scene.vault().act(account, "delete", { key_name: "token" });
  await scene.settle(MINUTE);
  await scene.stop();
  await scene.settle(15 * MINUTE);
  scene.start();
  await scene.settle(5 * MINUTE);
  expect(keysIn(scene, "jobs")).toEqual(["token"]);
});

test("a spec that no target has yet is Progressing", async () => {
  await using scene = await sceneWith();
  scene.vault().unreadable.add("token");
  const changed = [{ secretKey: "password", remoteRef: { key: "token" } }];
  scene.put(clusterVaultSecretKind, registry, spec({ data: changed }));
  await scene.settle(2 * MINUTE);
  expect(scene.conditionOf(clusterVaultSecretKind, registry)).toMatchObject({
    status: "False",
    reason: "Progressing",
    observedGeneration: 2,
  });
});

test("an optional source adds no key to a frozen namespace after a restart", async () => {
  const late = { secretKey: "token", optional: true, remoteRef: { key: "late" } };
  await using scene = await sceneWith({ data: [...data, late] });
  freeze(scene, "jobs");
  await scene.settle();
  scene.vault().writeAs(account, ["late"]);
  await scene.settle();
  expect(keysIn(scene, "jobs")).toEqual(["password"]);
  await scene.replace();
  expect(keysIn(scene, "jobs")).toEqual(["password"]);
  expect(keysIn(scene, "shop")).toEqual(["password", "token"]);
});

test("an edit in a frozen namespace is repaired with its version after an outage", async () => {
  await using scene = await sceneWith();
  freeze(scene, "jobs");
  await scene.settle();
  scene.vault().writeAs(account, ["login"]);
  await scene.settle();
  const before = valueIn(scene, "jobs");
  scene.vault().setDown(true);
  const target = { namespace: "jobs", name: "registry" };
  await scene.restart(() => scene.server.patch(SECRETS, target, { data: { password: "eA==" } }));
  await scene.settle(2 * MINUTE);
  scene.vault().setDown(false);
  await scene.settle(10 * MINUTE);
  expect(valueIn(scene, "jobs")).toBe(before);
});

const textOf = (base64: string): string => Buffer.from(base64, "base64").toString();

/** Returns the values of a target by key; `undefined` if there is none. */
function dataIn(scene: SimulatedWorld, namespace: string): object | undefined {
  const target = scene.target("registry", namespace);
  return (
    target?.data &&
    Object.fromEntries(Object.entries(target.data).map(([key, one]) => [key, textOf(one)]))
  );
}

const NOTHING = { namespaceSelector: { matchLabels: { none: "none" } } };
/** The resource of many namespaces, or a VaultSecret in `jobs` for comparison. */
const put = (scene: SimulatedWorld, kind: string, more: object): void =>
  kind === "ClusterVaultSecret"
    ? scene.put(clusterVaultSecretKind, registry, spec(more))
    : scene.put(
        vaultSecretKind,
        { namespace: "jobs", name: "registry" },
        { connectionRef, data, ...more },
      );
async function sceneOf(kind: string): Promise<SimulatedWorld> {
  const scene = await sceneWith(kind === "ClusterVaultSecret" ? {} : NOTHING);
  put(scene, kind, {});
  await scene.settle();
  return scene;
}
const JOBS = { namespace: "jobs", name: "registry" };
test.each(["ClusterVaultSecret", "VaultSecret"])(
  "a target without its label loses its bytes at delete_time after a restart (%s)",
  async (kind) => {
    await using scene = await sceneOf(kind);
    scene.vault().setDeadline(account, "login", scene.clock.now() + 60_000);
    await scene.settle();
    await scene.stop();
    scene.server.patch(SECRETS, JOBS, {
      metadata: { labels: { "app.kubernetes.io/managed-by": null } },
    });
    await scene.clock.advance(120_000);
    scene.start();
    await scene.clock.advance(900_000);
    expect(keysIn(scene, "jobs")).toEqual([]);
  },
);

/** Starts an operator whose resource is suspended while its deadline becomes a later one. */
async function suspendedOver(kind: string): Promise<SimulatedWorld> {
  const scene = await sceneOf(kind);
  scene.vault().setDeadline(account, "login", scene.clock.now() + 600_000);
  await scene.settle();
  put(scene, kind, { suspend: true });
  await scene.settle();
  scene.vault().setDeadline(account, "login", scene.clock.now() + 100 * DAY);
  await scene.clock.advance(1_200_000);
  return scene;
}

test.each(["ClusterVaultSecret", "VaultSecret"])(
  "a deadline that changed during a suspension removes nothing after a restart (%s)",
  async (kind) => {
    await using scene = await suspendedOver(kind);
    await scene.stop();
    scene.vault().act(account, "delete", { key_name: "login" });
    put(scene, kind, {});
    scene.start();
    await scene.clock.advance(300_000);
    expect(keysIn(scene, "jobs")).toEqual(["password"]);
  },
);

test.each(["ClusterVaultSecret", "VaultSecret"])(
  "a deadline that changed during a suspension removes nothing when it ends (%s)",
  async (kind) => {
    await using scene = await suspendedOver(kind);
    scene.vault().act(account, "delete", { key_name: "login" });
    await scene.settle();
    put(scene, kind, {});
    await scene.clock.advance(300_000);
    expect(keysIn(scene, "jobs")).toEqual(["password"]);
  },
);

test("the deadline of a name that one namespace may read is kept over a restart", async () => {
  const access = [
    { namespaceSelector: { matchLabels: { tier: "all" } }, secrets: ["*"] },
    { namespaceSelector: { matchLabels: { tier: "few" } }, secrets: ["bulk-a"] },
  ];
  const dataFrom = [{ find: { name: { regexp: "^bulk-" } } }];
  await using scene = await sceneWith({ data: undefined, dataFrom }, { access }, {}, [
    "bulk-a",
    "bulk-b",
  ]);
  scene.label("blog", { ...TEAM, tier: "few" });
  scene.label("jobs", { ...TEAM, tier: "few" });
  scene.label("shop", { ...TEAM, tier: "all" });
  await scene.settle();
  expect(keysIn(scene, "shop")).toEqual(["bulk-a", "bulk-b"]);
  scene.vault().setDeadline(account, "bulk-b", scene.clock.now() + 60_000);
  await scene.clock.advance(30_000);
  await scene.stop();
  await scene.clock.advance(60_000);
  scene.start();
  await scene.clock.advance(300_000);
  expect(keysIn(scene, "shop")).toEqual(["bulk-a"]);
});

test.each(["ClusterVaultSecret", "VaultSecret"])(
  "an edit in a frozen namespace is repaired with its version after a restart (%s)",
  async (kind) => {
    await using scene = await sceneOf(kind);
    freeze(scene, "jobs");
    await scene.settle();
    scene.vault().writeAs(account, ["login"]);
    await scene.settle();
    const before = dataIn(scene, "jobs");
    await scene.restart(() => scene.server.patch(SECRETS, JOBS, { data: { password: "eA==" } }));
    await scene.clock.advance(120_000);
    expect(dataIn(scene, "jobs")).toEqual(before);
  },
);

test.each(["ClusterVaultSecret", "VaultSecret"])(
  "a refreshInterval lasts over a restart (%s)",
  async (kind) => {
    await using scene = await sceneOf(kind);
    put(scene, kind, { refreshInterval: "1h" });
    await scene.settle();
    const before = dataIn(scene, "jobs");
    scene.vault().writeAs(account, ["login"]);
    await scene.settle(20 * 60_000);
    await scene.restart();
    await scene.settle(30 * 60_000);
    expect(dataIn(scene, "jobs")).toEqual(before);
    await scene.settle(20 * 60_000);
    expect(dataIn(scene, "jobs")).not.toEqual(before);
  },
);

test("workloads with the annotation auto follow with --target-watch=off", async () => {
  await using scene = await sceneWith({}, ALL, { autoRestart: "on", targetWatch: "off" });
  await createWorkload(scene);
  scene.vault().writeAs(account, ["login"]);
  await scene.settle(120_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a rule for the same value restarts no workload", async () => {
  await using scene = await sceneWith({}, ALL, { autoRestart: "on" });
  await createWorkload(scene);
  const ruled = [
    { secretKey: "password", remoteRef: { key: "login" }, validate: { minLength: 1 } },
  ];
  scene.put(clusterVaultSecretKind, registry, spec({ data: ruled }));
  await scene.settle(120_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
  scene.vault().writeAs(account, ["login"]);
  await scene.settle(120_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("a removed annotation that cannot be repaired restarts no workload", async () => {
  await using scene = await sceneWith({}, ALL, { autoRestart: "on", valueCacheBytes: 0 });
  await createWorkload(scene);
  scene.vault().unreadable.add("login");
  const annotations = { "vaultsync.dev/versions": null };
  scene.server.patch(
    SECRETS,
    { namespace: "shop", name: "registry" },
    { metadata: { annotations } },
  );
  await scene.settle(600_000);
  scene.vault().unreadable.clear();
  await scene.settle(600_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
});

test("a namespace that stays in Terminating is not waited for", async () => {
  await using scene = await sceneWith();
  scene.server.delete(NAMESPACES, { name: "jobs" });
  scene.server.delete(SECRETS, JOBS);
  await scene.replace();
  const annotations = { [FORCE_SYNC_ANNOTATION]: "now" };
  scene.server.patch(clusterVaultSecretKind, registry, { metadata: { annotations } });
  await scene.clock.advance(600_000);
  expect.soft(ready(scene)).toContain("True Synced");
  expect.soft(statusOf(scene).lastForceSync).toBe("now");
});

/** The part of a spec that selects these namespaces only. */
const selected = (...of: string[]): object => ({
  namespaceSelector: undefined,
  namespaces: of,
});

test.each(["on", "off"] as const)(
  "one edit of the name and the selection keeps the target (--target-watch=%s)",
  async (targetWatch) => {
    await using scene = await sceneWith(selected("blog", "shop"), ALL, { targetWatch });
    scene.put(
      clusterVaultSecretKind,
      registry,
      spec({ ...selected("shop"), target: { name: "renamed" } }),
    );
    await scene.clock.advance(60_000);
    scene.server.delete(clusterVaultSecretKind, registry);
    await scene.settle();
    new ClusterControllers(scene.server).run();
    expect(keysIn(scene, "blog")).toEqual(["password"]);
  },
);

test("a namespace that is not selected any more causes no requests (--target-watch=off)", async () => {
  await using scene = await sceneWith({}, ALL, { targetWatch: "off", resync: 60_000 });
  scene.label("blog", {});
  await scene.settle(60_000);
  scene.takeRequests();
  await scene.clock.advance(600_000);
  // The resync reads the targets of the two selected namespaces.
  expect(scene.takeRequests().length).toBeLessThan(30);
  expect(keysIn(scene, "blog")).toEqual(["password"]);
});
