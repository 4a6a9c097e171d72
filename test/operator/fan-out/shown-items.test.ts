import { expect, test } from "vitest";
import {
  clusterVaultConnectionKind,
  clusterVaultSecretKind,
  vaultSecretKind,
} from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import type { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  account,
  ALL,
  corporate,
  freeze,
  keysIn,
  namespaces,
  registry,
  sceneWith,
  spec,
  TEAM,
  valueIn,
} from "./scene.ts";

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
