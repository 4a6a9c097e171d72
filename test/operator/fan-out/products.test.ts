import { expect, test } from "vitest";
import { clusterVaultSecretKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { NAMESPACES, SECRETS } from "../../../src/operator/kube/resource.ts";
import { ClusterControllers } from "../../lab/simulated/api-server/cluster-controllers.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  account,
  ALL,
  createWorkload,
  freeze,
  keysIn,
  ready,
  registry,
  sceneWith,
  spec,
  statusOf,
  TEAM,
} from "./scene.ts";

const textOf = (base64: string): string => Buffer.from(base64, "base64").toString();

/** Returns the values of a target by key; `undefined` if there is none. */
function dataIn(scene: SimulatedWorld, namespace: string): object | undefined {
  const { data } = scene.target("registry", namespace) ?? {};
  return data && Object.fromEntries(Object.entries(data).map(([key, one]) => [key, textOf(one)]));
}

const { connectionRef, data } = spec() as { connectionRef: object; data: object };
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
const DAY = 86_400_000;

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

test.each(["ClusterVaultSecret", "VaultSecret"])(
  "a deadline that changed during a suspension removes nothing after a restart (%s)",
  async (kind) => {
    await using scene = await sceneOf(kind);
    scene.vault().setDeadline(account, "login", scene.clock.now() + 600_000);
    await scene.settle();
    put(scene, kind, { suspend: true });
    await scene.settle();
    scene.vault().setDeadline(account, "login", scene.clock.now() + 100 * DAY);
    await scene.clock.advance(1_200_000);
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
    await using scene = await sceneOf(kind);
    scene.vault().setDeadline(account, "login", scene.clock.now() + 600_000);
    await scene.settle();
    put(scene, kind, { suspend: true });
    await scene.settle();
    scene.vault().setDeadline(account, "login", scene.clock.now() + 100 * DAY);
    await scene.clock.advance(1_200_000);
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
