import { expect, test } from "vitest";
import {
  clusterVaultConnectionKind,
  clusterVaultFileKind,
  clusterVaultSecretKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { EVENTS, NAMESPACES, SECRETS } from "../../../src/operator/kube/resource.ts";
import { ClusterControllers } from "../../lab/simulated/api-server/cluster-controllers.ts";
import { passwordIn, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  account,
  ALL,
  corporate,
  createWorkload,
  namespaces,
  ready,
  registry,
  sceneWith,
  spec,
  statusOf,
  TEAM,
  valueIn,
} from "./scene.ts";

const valuesIn = (scene: SimulatedWorld): (string | undefined)[] =>
  ["blog", "jobs", "other", "shop"].map((namespace) => valueIn(scene, namespace));
const written = (version: number): string => `${account} login ${version}`;

test("a resource has a target in each namespace that it selects, for one read", async () => {
  await using scene = await sceneWith();
  const value = written(1);
  expect(valuesIn(scene)).toEqual([value, value, undefined, value]);
  expect(scene.vault().takeReads()).toHaveLength(1);
  expect(scene.server.all(vaultSecretKind)).toEqual([]);
  expect(statusOf(scene).namespaces).toEqual({ selected: 3, ready: 3, failed: 0 });
  expect(ready(scene)).toBe("True Synced: the targets of 3 namespaces are in sync with the vault");
  const [owner] = scene.target("registry", "blog")?.metadata.ownerReferences ?? [];
  expect(owner).toMatchObject({ kind: "ClusterVaultSecret", name: "registry", controller: true });
});

test("a change costs one read, one write per namespace and a status, and then nothing", async () => {
  await using scene = await sceneWith();
  scene.takeRequests();
  scene.vault().takeReads();
  scene.vault().writeAs(account, ["login"]);
  await scene.settle();
  expect(valuesIn(scene)).toEqual([written(3), written(3), undefined, written(3)]);
  expect(scene.vault().takeReads()).toHaveLength(1);
  expect(scene.takeRequests()).toEqual([
    ...namespaces.map(() => "patch secrets registry"),
    "update clustervaultsecrets registry",
  ]);
  await scene.clock.advance(3_600_000);
  expect(scene.takeRequests()).toEqual([]);
});

test("a namespace is served when it is created or labeled, and when the spec names it", async () => {
  await using scene = await sceneWith();
  scene.label("other", TEAM);
  scene.namespace("late", TEAM);
  await scene.settle();
  expect(valueIn(scene, "other")).toBe(written(1));
  expect(valueIn(scene, "late")).toBe(written(1));
  expect(statusOf(scene).namespaces?.selected).toBe(5);
  scene.put(
    clusterVaultSecretKind,
    registry,
    spec({ namespaceSelector: undefined, namespaces: ["shop", "later"] }),
  );
  await scene.settle();
  expect(ready(scene)).toContain("the targets of 1 namespace are in sync");
  expect(ready(scene)).toContain("no namespace has the name later");
  scene.namespace("later", {});
  await scene.settle();
  expect(valueIn(scene, "later")).toBe(written(1));
  expect(statusOf(scene).namespaces).toEqual({ selected: 2, ready: 2, failed: 0 });
});

// The status of all namespaces said that there was a target.
test("a target of a new namespace is created, and one that a user deletes created again", async () => {
  await using scene = await sceneWith();
  scene.label("other", TEAM);
  await scene.settle();
  scene.server.delete(SECRETS, { namespace: "other", name: "registry" });
  await scene.settle();
  const reasons = scene.server
    .all(EVENTS)
    .filter(({ metadata }) => metadata.namespace === "other")
    .map((event) => event["reason"]);
  expect(reasons).toEqual(["TargetCreated", "TargetRecreated"]);
});

test("a namespace that is not selected any more keeps its target without an owner", async () => {
  await using scene = await sceneWith();
  scene.label("blog", {});
  await scene.settle();
  scene.vault().writeAs(account, ["login"]);
  await scene.settle();
  expect(valuesIn(scene)).toEqual([written(1), written(3), undefined, written(3)]);
  expect(scene.target("registry", "blog")?.metadata.ownerReferences ?? []).toEqual([]);
  scene.server.delete(clusterVaultSecretKind, registry);
  await scene.settle();
  new ClusterControllers(scene.server).run();
  expect(valuesIn(scene)).toEqual([written(1), undefined, undefined, undefined]);
});

test("a namespace that is selected again gets its target back", async () => {
  await using scene = await sceneWith();
  scene.label("blog", {});
  await scene.settle();
  scene.vault().writeAs(account, ["login"]);
  scene.label("blog", TEAM);
  await scene.settle();
  expect(valueIn(scene, "blog")).toBe(written(3));
  expect(scene.target("registry", "blog")?.metadata.ownerReferences).toHaveLength(1);
  expect(statusOf(scene).namespaces).toEqual({ selected: 3, ready: 3, failed: 0 });
});

test("a target of a namespace that stopped being selected while no operator ran is released", async () => {
  await using scene = await sceneWith();
  await scene.restart(() => scene.label("blog", {}));
  await scene.settle();
  expect(valueIn(scene, "blog")).toBe(written(1));
  expect(scene.target("registry", "blog")?.metadata.ownerReferences ?? []).toEqual([]);
  expect(scene.target("registry", "shop")?.metadata.ownerReferences).toHaveLength(1);
});

test("a spec without a valid selection changes nothing", async () => {
  await using scene = await sceneWith();
  scene.put(clusterVaultSecretKind, registry, spec({ namespaceSelector: { matchLabel: TEAM } }));
  await scene.settle();
  scene.vault().writeAs(account, ["login"]);
  await scene.settle();
  expect(valuesIn(scene)).toEqual([written(1), written(1), undefined, written(1)]);
  expect(scene.target("registry", "blog")?.metadata.ownerReferences).toHaveLength(1);
  expect(ready(scene)).toContain("False InvalidSpec: spec.namespaceSelector");
});

test("what the access does not allow in a namespace concerns no other one", async () => {
  const access = [{ namespaceSelector: { matchLabels: { tier: "web" } }, secrets: ["*"] }];
  await using scene = await sceneWith({}, { access });
  expect(ready(scene)).toContain("False NamespaceNotAllowed: blog: ");
  scene.label("shop", { ...TEAM, tier: "web" });
  await scene.settle();
  expect(valuesIn(scene)).toEqual([undefined, undefined, undefined, written(1)]);
  expect(ready(scene)).toContain(
    "True Synced: the targets of 1 namespace are in sync with the vault; the connection does not allow 2 namespaces, such as blog",
  );
  expect(statusOf(scene).failures?.map(({ namespace }) => namespace)).toEqual(["blog", "jobs"]);
});

test("an object of a user in one namespace is a conflict there, and is left alone", async () => {
  await using scene = await sceneWith();
  scene.server.delete(SECRETS, { namespace: "jobs", name: "registry" });
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "jobs", name: "registry" },
    data: { password: "bWluZQ==" },
  });
  await scene.settle();
  scene.vault().writeAs(account, ["login"]);
  await scene.settle();
  expect(valuesIn(scene)).toEqual([written(3), "mine", undefined, written(3)]);
  expect(ready(scene)).toContain("False TargetConflict: 1 of 3 namespaces not in sync; jobs: ");
  expect(scene.conditionOf(clusterVaultSecretKind, registry, "Stalled")?.status).toBe("True");
});

const isRead = (request: string): boolean => /^(?:get|list|watch) /u.test(request);

test("a restart and another leader write nothing", async () => {
  await using scene = await sceneWith();
  scene.takeRequests();
  await scene.replace();
  await scene.clock.advance(60_000);
  const writes = scene.takeRequests().filter((request) => !isRead(request));
  expect(writes).toEqual(["update clustervaultconnections corporate"]);
});

test("a forced sync is reported when all namespaces have synced, and once", async () => {
  await using scene = await sceneWith();
  const annotations = { [FORCE_SYNC_ANNOTATION]: "now" };
  scene.server.patch(clusterVaultSecretKind, registry, { metadata: { annotations } });
  await scene.settle();
  expect(statusOf(scene).lastForceSync).toBe("now");
  await scene.replace();
  scene.vault().takeReads();
  scene.label("other", TEAM);
  await scene.settle();
  expect(statusOf(scene).lastForceSync).toBe("now");
});

test("a secret that the vault removes at its delete_time leaves every namespace", async () => {
  await using scene = await sceneWith();
  scene.vault().setDeadline(account, "login", scene.clock.now() + 60_000);
  await scene.clock.advance(180_000);
  expect(valuesIn(scene)).toEqual([undefined, undefined, undefined, undefined]);
  expect(ready(scene)).toContain("False SourceRemoved: 3 of 3 namespaces not in sync; blog: ");
});

test("a namespace that is deleted is not waited for", async () => {
  await using scene = await sceneWith();
  scene.server.delete(NAMESPACES, { name: "jobs" });
  new ClusterControllers(scene.server).run();
  await scene.settle();
  expect(statusOf(scene).namespaces).toEqual({ selected: 2, ready: 2, failed: 0 });
});

test("a deadline that passes while no operator runs is kept in every namespace", async () => {
  await using scene = await sceneWith();
  scene.vault().setDeadline(account, "login", scene.clock.now() + 60_000);
  await scene.clock.advance(30_000);
  await scene.stop();
  await scene.clock.advance(60_000);
  scene.start();
  await scene.clock.advance(120_000);
  expect(valuesIn(scene)).toEqual([undefined, undefined, undefined, undefined]);
  expect(ready(scene)).toContain("False SourceRemoved");
});

test.each(["on", "off"] as const)(
  "a target that is renamed while no operator runs leaves none behind (--target-watch=%s)",
  async (targetWatch) => {
    await using scene = await sceneWith({}, ALL, { targetWatch });
    await scene.restart(() =>
      scene.put(clusterVaultSecretKind, registry, spec({ target: { name: "renamed" } })),
    );
    await scene.settle();
    expect(valuesIn(scene)).toEqual([undefined, undefined, undefined, undefined]);
    for (const namespace of namespaces)
      expect(scene.target("renamed", namespace)?.data).toHaveProperty("password");
    expect(scene.server.get(clusterVaultSecretKind, registry)["status"]).toMatchObject({
      target: { name: "renamed" },
    });
  },
);

test("removals that are held stay held after a restart", async () => {
  const names = Array.from({ length: 12 }, (_, n) => `bulk-${n}`);
  await using scene = await sceneWith();
  scene.vault().writeAs(account, names);
  const target = { whenMissing: "Delete" };
  const dataFrom = [{ find: { name: { regexp: "^bulk-" } } }];
  scene.put(clusterVaultSecretKind, registry, spec({ data: undefined, dataFrom, target }));
  await scene.settle();
  for (const key_name of names) scene.vault().act(account, "delete", { key_name });
  await scene.clock.advance(300_000);
  const keys = (): number[] =>
    namespaces.map((one) => Object.keys(scene.target("registry", one)?.data ?? {}).length);
  expect(keys()).toEqual([12, 12, 12]);
  await scene.replace();
  await scene.clock.advance(600_000);
  expect(keys()).toEqual([12, 12, 12]);
  expect(scene.conditionOf(clusterVaultConnectionKind, corporate, "RemovalsHeld")?.status).toBe(
    "True",
  );
});

test("workloads with the annotation auto follow the target in their namespace", async () => {
  await using scene = await sceneWith({}, ALL, { autoRestart: "on" });
  await createWorkload(scene);
  await scene.replace();
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(0);
  scene.vault().writeAs(account, ["login"]);
  await scene.settle(60_000);
  expect(scene.workloads.count("Deployment", "web")).toBe(1);
});

test("an operator whose CRDs are older works without the kinds, and serves them later", async () => {
  const scene = new SimulatedWorld({ passwordIn, immediateVaults: true, apiLatencyMs: 0 });
  await using _ = scene;
  for (const kind of [clusterVaultSecretKind, clusterVaultFileKind]) scene.server.unserve(kind);
  scene.namespace("shop", TEAM);
  scene.connectAccount(corporate, ALL);
  scene.vault().writeAs(account, ["login"]);
  scene.follow({ password: "login" }, { name: "own", connection: corporate });
  scene.start();
  await scene.settle(60_000);
  expect(scene.outcome("own")).toBe(`password=${written(1)}, Synced`);
  for (const kind of [clusterVaultSecretKind, clusterVaultFileKind]) scene.server.serve(kind);
  scene.put(clusterVaultSecretKind, registry, spec());
  await scene.settle(60_000);
  expect(valueIn(scene, "shop")).toBe(written(1));
});
