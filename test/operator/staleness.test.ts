import { expect, test } from "vitest";
import { pushed, SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

const MINUTE = 60_000;
const DATED =
  /^the target is in sync with the vault, but the vault was not listed reliably since (\S+Z)$/u;

/** Returns a scene whose vault does not respond any more, long enough that everything is stale. */
async function stale(): Promise<SimulatedWorld> {
  const scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b"]);
  scene.start();
  await scene.clock.advance(5 * MINUTE);
  vault.latencyMs = 3_600_000;
  await scene.clock.advance(10 * MINUTE);
  return scene;
}

test("in an outage Ready says since when, and Stale is the same for resource and connection", async () => {
  await using scene = await stale();
  const [ready, of, ofConnection] = [
    scene.condition("Ready", "a"),
    scene.condition("Stale", "a"),
    scene.connectionCondition("Stale"),
  ];
  expect(ready?.status).toBe("True");
  const [, since] = DATED.exec(ready?.message ?? "") ?? [];
  expect(since).toMatch(/^2026-11-21T00:0[345]/u);
  expect(of?.message).toBe(
    `the vault was not listed reliably since ${since}; the target is kept unchanged`,
  );
  expect(ofConnection?.message).toBe(
    `the vault was not listed reliably since ${since}; all targets are kept unchanged`,
  );
  expect(of?.reason).toBe("VaultUnreachable");
  expect(ofConnection?.reason).toBe("VaultUnreachable");
  expect(
    scene.server.get(vaultConnectionKind, { namespace: "shop", name: "vault" })["status"],
  ).toMatchObject({
    staleSince: since,
  });
});

test("a restart in an outage writes no status of a resource, and keeps since when it lasts", async () => {
  await using scene = await stale();
  const before = ["Ready", "Stale"].map((type) => [
    scene.condition(type, "a"),
    scene.connectionCondition(type),
  ]);
  await scene.restart(() => scene.resetMeasurements());
  await scene.clock.advance(10 * MINUTE);
  expect(scene.requests.filter((request) => request.startsWith("update vaultsecrets"))).toEqual([]);
  const after = ["Ready", "Stale"].map((type) => [
    scene.condition(type, "a"),
    scene.connectionCondition(type),
  ]);
  expect(after[0]?.[0]).toEqual(before[0]?.[0]);
  expect(after[1]).toEqual(before[1]);
});

test("an edit of the connection in an outage does not end that its resources are stale", async () => {
  await using scene = await stale();
  const before = ["Ready", "Stale"].map((type) => scene.condition(type, "a"));
  const spec = { auth: { passwordSecretRef: { name: "absent" } } };
  scene.server.patch(vaultConnectionKind, { namespace: "shop", name: "vault" }, { spec });
  await scene.clock.advance(1_000);
  expect(scene.connectionCondition("Ready")?.reason).toBe("CredentialsMissing");
  expect(["Ready", "Stale"].map((type) => scene.condition(type, "a"))).toEqual(before);
});

test("after an outage nothing is stale, and the message of Ready has no date", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  const before = scene.condition("Ready", "a");
  vault.latencyMs = 3_600_000;
  await scene.clock.advance(10 * MINUTE);
  expect(scene.condition("Ready", "a")?.message).toMatch(DATED);
  await scene.restart();
  vault.latencyMs = 10;
  await scene.clock.advance(10 * MINUTE);
  expect(scene.condition("Ready", "a")).toEqual(before);
  expect(scene.condition("Stale", "a")).toBeUndefined();
  expect(scene.connectionCondition("Stale")).toBeUndefined();
});

test("lists that fail now and then during an outage change neither its beginning nor any status", async () => {
  await using scene = await stale();
  const before = scene.connectionCondition("Stale");
  const vault = scene.vault("shop");
  for (let round = 0; round < 5; round += 1) {
    vault.latencyMs = 10;
    while (scene.connectionCondition("Ready")?.status !== "True") await scene.clock.advance(1_000);
    vault.latencyMs = 3_600_000;
    await scene.clock.advance(2 * MINUTE);
    expect(scene.connectionCondition("Stale")).toEqual(before);
  }
});

test("the first list of a vault ends that it was unavailable: each resource costs one status", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b", "c"]);
  vault.latencyMs = 3_600_000;
  scene.start();
  await scene.clock.advance(20 * MINUTE);
  scene.resetMeasurements();
  vault.latencyMs = 10;
  await scene.clock.advance(20 * MINUTE);
  expect(scene.condition("Ready", "a")?.message).toBe("the target is in sync with the vault");
  expect(
    scene.requests.filter((request) => request.startsWith("update vaultsecrets")),
  ).toHaveLength(3);
});

test("nothing is stale that never had a list of the vault", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]);
  scene.server.delete(SECRETS, { namespace: "shop", name: "login" }, {});
  scene.start();
  await scene.clock.advance(10 * MINUTE);
  expect(scene.connectionCondition("Ready")?.reason).toBe("CredentialsMissing");
  expect(scene.condition("Ready", "a")?.reason).toBe("ConnectionNotReady");
  expect(scene.condition("Stale", "a")).toBeUndefined();
  expect(scene.connectionCondition("Stale")).toBeUndefined();
});

test("a VaultPush that is Ready says since when the vault was not listed", async () => {
  await using scene = await withPushSource();
  scene.pushes.put();
  await scene.settle();
  scene.vault().network = {
    send: ({ operation }) => Promise.reject(new TransientError(operation, "reset")),
  };
  await scene.settle(10 * MINUTE);
  const ready = (): string =>
    scene.pushes.status().conditions?.find(({ type }) => type === "Ready")?.message ?? "";
  expect(ready()).toMatch(
    /^the vault has the bytes of the Secret, but the vault was not listed reliably since \S+Z$/u,
  );
  scene.vault().network = {};
  await scene.settle(10 * MINUTE);
  expect(ready()).toBe("the vault has the bytes of the Secret");
  expect(scene.pushes.versions("db", "secret", ACCOUNT)).toEqual(["one"]);
  expect(NAMESPACE).toBe("shop");
});

test("a resource is not Ready while the other vault of a changed connection is unavailable", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.vault("second").setDown(true);
  scene.connect("vault", { url: "https://second.example.com" });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, ConnectionNotReady");
  scene.vault("second").setDown(false);
  scene.vault("second").lists({ name: "db" });
  await scene.settle(2 * MINUTE);
  expect(scene.outcome()).toBe("password=second db@1, Synced");
});

test("a connection that cannot be opened becomes stale, with its resources, also after a restart", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.connect("vault", { caBundleRef: { kind: "ConfigMap", name: "absent" } });
  await scene.settle(2 * MINUTE);
  expect(scene.condition("Stale")).toBeUndefined();
  await scene.settle(2 * MINUTE);
  const before = scene.condition("Stale");
  expect(before?.reason).toBe("InvalidCaBundle");
  expect(scene.condition("Ready")?.message).toMatch(DATED);
  expect(scene.connectionCondition("Stale")?.reason).toBe("InvalidCaBundle");
  scene.takeRequests();
  await scene.replace();
  await scene.settle(10 * MINUTE);
  expect(scene.condition("Stale")).toEqual(before);
  expect(scene.takeRequests().filter((one) => !one.startsWith("get configmaps"))).toEqual([]);
  scene.connect("vault");
  await scene.settle(3 * MINUTE);
  expect(scene.condition("Stale")).toBeUndefined();
  expect(scene.condition("Ready")?.message).toBe("the target is in sync with the vault");
});

test("a connection that cannot be opened since the start of the operator becomes stale", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  await scene.stop();
  scene.connect("vault", { caBundleRef: { kind: "ConfigMap", name: "absent" } });
  await scene.replace();
  expect(scene.condition("Stale")).toBeUndefined();
  await scene.settle(4 * MINUTE);
  expect(scene.condition("Stale")?.reason).toBe("InvalidCaBundle");
});

test("a VaultPush becomes stale whose connection cannot be opened", async () => {
  await using scene = await pushed();
  scene.pushes.connect("vault", { caBundleRef: { kind: "ConfigMap", name: "absent" } });
  await scene.settle(4 * MINUTE);
  expect(scene.pushes.condition("Stale")?.reason).toBe("InvalidCaBundle");
});
