import { describe, expect, test } from "vitest";
import { OPERATOR_NAMESPACE, SHOP } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { CONFIG_MAPS, NAMESPACES } from "../../../src/operator/kube/resource.ts";
import {
  FREEZE,
  freeze,
  mergedValue,
  removeAtDeadline,
  update,
  withMergedVersion,
} from "./gated-targets.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const data = { password: "db" };

const thaw = (scene: SimulatedWorld): void =>
  scene.server.delete(CONFIG_MAPS, { namespace: OPERATOR_NAMESPACE, name: FREEZE });

/** Returns the time in so many milliseconds. */
const later = (scene: SimulatedWorld, ms: number): string =>
  new Date(scene.clock.now() + ms).toISOString();

/** Starts an operator that has synced version 1 of these secrets, and freezes it for an hour. */
async function frozen(
  keys: Readonly<Record<string, string>> = data,
  spec: Parameters<SimulatedWorld["follow"]>[1] = {},
): Promise<SimulatedWorld> {
  const names = [...new Set(Object.values(keys))].map((name) => ({ name }));
  const scene = await SimulatedWorld.following(names, keys, spec);
  freeze(scene, { until: later(scene, HOUR), reason: "holidays" });
  await scene.settle();
  return scene;
}

describe("a freeze", () => {
  test("keeps all versions until its end, costs one status, and ends without a list", async () => {
    await using scene = await frozen({ one: "a", other: "b" });
    scene.takeRequests();
    scene.vault().lists({ name: "a", version: 2 }, { name: "b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 other=vault b@1, Synced");
    expect(update(scene)).toMatchObject({ reason: "Frozen" });
    expect(update(scene)?.message).toMatch(
      /^newer versions that wait for the end of a freeze until \S+Z \(ConfigMap vaultsync-freeze: holidays\): a 1 → 2, b 1 → 2$/u,
    );
    expect(scene.takeRequests()).toEqual(["update vaultsecrets db"]);
    scene.vault().calls.length = 0;
    await scene.settle(50 * MINUTE);
    expect(scene.takeRequests()).toEqual([]);
    await scene.settle(11 * MINUTE);
    expect(scene.outcome()).toBe("one=vault a@2 other=vault b@2, Synced");
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(update(scene)).toBeUndefined();
    expect(scene.vault().polls).toBe(0);
  });

  test("ends when its ConfigMap is deleted, or selects another namespace", async () => {
    await using scene = await frozen();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    const selector = { matchLabels: { team: "web" } };
    freeze(scene, { until: later(scene, HOUR), namespaceSelector: JSON.stringify(selector) });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    scene.label(SHOP, { team: "web" });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    thaw(scene);
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@3, Synced");
  });

  test("survives a restart, and is known before the first write of a process", async () => {
    await using scene = await frozen();
    await scene.stop();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.reason).toBe("Frozen");
    await scene.replace({ leaderElect: true, shards: 2 });
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("of a namespace is an annotation", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], data);
    const annotate = (until: string | null): unknown =>
      scene.server.patch(
        NAMESPACES,
        { name: SHOP },
        { metadata: { annotations: { "vaultsync.dev/freeze-until": until } } },
      );
    annotate(later(scene, HOUR));
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.message).toContain("annotation vaultsync.dev/freeze-until");
    annotate(null);
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
  });

  test("that cannot be parsed freezes all namespaces for 24 hours, and says so", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], data);
    freeze(scene, { until: later(scene, -HOUR) });
    await scene.settle(48 * HOUR);
    freeze(scene, { until: "tomorrow", namespaceSelector: '{"matchLabels": {"team": "web"}}' });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.replace();
    await scene.settle(23 * HOUR);
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.message).toContain(
      "because it cannot be parsed (ConfigMap vaultsync-freeze: data.until: expected a time",
    );
    expect(scene.log.map(({ message }) => message)).toContain(
      "freeze cannot be parsed, freezing everything",
    );
    await scene.settle(2 * HOUR);
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
  });

  test("selects namespaces whose labels the operator may not read", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db" }], data);
    await scene.replace({ namespaces: [SHOP] });
    const selector = { matchLabels: { team: "web" } };
    freeze(scene, { until: later(scene, HOUR), namespaceSelector: JSON.stringify(selector) });
    await scene.settle();
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  test("that the API server denies is reported, and stops nothing", async () => {
    await using scene = await frozen();
    await scene.stop();
    scene.deny(`${OPERATOR_NAMESPACE}/configmaps`);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.replace({ namespaces: [SHOP] });
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.problems.text).toContain("configmaps");
  });
});

describe("a frozen resource", () => {
  test("is created, repaired and changed with its spec", async () => {
    await using scene = await frozen();
    scene.vault().lists({ name: "db", version: 2 }, { name: "user", version: 4 });
    scene.follow({ user: "user" }, { name: "second" });
    await scene.settle();
    expect(scene.outcome("second")).toBe("user=vault user@4, Synced");
    scene.edit({ password: "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.deleteTarget();
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.follow({ ...data, user: "user" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@4, Synced");
    scene.vault().lists({ name: "db", version: 3 }, { name: "user", version: 5 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2 user=vault user@4, Synced");
  });

  test("loses what the vault removes at its deadline", async () => {
    await using scene = await frozen({ password: "db", user: "user" });
    await removeAtDeadline(scene);
    expect(scene.outcome()).toBe("user=vault user@1, SourceRemoved");
  });

  test("follows a version that a user accepts, and no forced sync", async () => {
    await using scene = await frozen();
    scene.vault().lists({ name: "db", version: 2 });
    scene.annotate({ "vaultsync.dev/force-sync": "1" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(scene.status().lastForceSync).toBe("1");
    scene.annotate({ "vaultsync.dev/accept": "db@2" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
  });

  test("can be taken back, and follows nothing when the hold ends", async () => {
    await using scene = await SimulatedWorld.following([{ name: "db", version: 2 }], data);
    freeze(scene, { until: later(scene, HOUR) });
    await scene.settle();
    scene.annotate({ "vaultsync.dev/hold": '{"versions": {"password": 1}}' });
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.reason).toBe("Held");
    scene.annotate({ "vaultsync.dev/hold": null });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.reason).toBe("Frozen");
    thaw(scene);
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@3, Synced");
  });

  test("follows neither new names that a rule finds nor optional ones", async () => {
    await using scene = await SimulatedWorld.shop("app-a");
    const optional = [{ secretKey: "more", remoteRef: { key: "more" }, optional: true }];
    scene.follow({}, { data: optional, dataFrom: [{ find: { name: { regexp: "^app-" } } }] });
    await scene.settle();
    freeze(scene, { until: later(scene, HOUR) });
    await scene.settle();
    scene.vault().lists({ name: "app-a", version: 2 }, { name: "app-b" }, { name: "more" });
    await scene.settle();
    expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
    expect(update(scene)?.message).toContain("more → 1, app-a 1 → 2, app-b → 1");
    scene.deleteTarget();
    await scene.replace();
    expect(scene.outcome()).toBe("app-a=vault app-a@1, Synced");
    thaw(scene);
    await scene.settle();
    const all = "app-a=vault app-a@2 app-b=vault app-b@1 more=vault more@1, Synced";
    expect(scene.outcome()).toBe(all);
  });

  test("keeps the entry that it has, also if an own one of the name appears", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("vault", { receive: "Anyone" });
    const shared = { name: "db", owner: "dba@example.com", shared: true };
    scene.vault().lists(shared);
    scene.follow(data);
    await scene.settle();
    freeze(scene, { until: later(scene, HOUR) });
    await scene.settle();
    scene.vault().lists(shared, { name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    scene.vault().lists({ name: "db", version: 3 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.message).toContain("db → 3");
    thaw(scene);
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@3, Synced");
  });

  test("keeps the bytes of the vault before, if its connection is changed", async () => {
    await using scene = await frozen();
    scene.connect("other");
    scene.vault("other").lists({ name: "db", version: 5 });
    scene.connection({ namespace: SHOP, name: "vault" }, { url: "https://other.example.com" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    thaw(scene);
    await scene.settle();
    expect(scene.outcome()).toBe("password=other db@5, Synced");
  });

  test("keeps the bytes of an entry that was deleted and recreated", async () => {
    await using scene = await frozen();
    scene.vault().expose = () => ({ value: "recreated" });
    scene.vault().lists({ name: "db", createdAt: scene.clock.now() });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
    expect(update(scene)?.message).toContain("db 1 → 1 (recreated)");
    thaw(scene);
    await scene.settle();
    expect(scene.outcome()).toBe("password=recreated, Synced");
  });

  test("keeps the keys that it merges into a foreign object", async () => {
    await using scene = await withMergedVersion({}, (one) =>
      freeze(one, { until: later(one, HOUR) }),
    );
    expect(mergedValue(scene)).toBe("vault db@1");
    thaw(scene);
    await scene.settle();
    expect(mergedValue(scene)).toBe("vault db@2");
  });
});
