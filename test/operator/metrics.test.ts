import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";

const MINUTE = 60_000;

test("every change of the vault counts once in the time of propagation, initial writes do not", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b", "c"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(await scene.samples("vaultsync_propagation_seconds_count")).toEqual(new Map([["", 0]]));
  scene.resetMeasurements();
  vault.write("a", "b");
  await scene.clock.advance(2 * MINUTE);
  expect(scene.value("shop", "b")).toBe("b@2");
  expect(await scene.samples("vaultsync_propagation_seconds_count")).toEqual(new Map([["", 2]]));
  const [seconds = Number.NaN] = (
    await scene.samples("vaultsync_propagation_seconds_sum")
  ).values();
  expect(seconds * 1_000).toBeCloseTo(scene.propagations("shop").reduce((sum, ms) => sum + ms, 0));
});

test("a connection has series of its freshness and circuit breaker until it is deleted", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b"]);
  scene.addVault("other", ["c"]);
  scene.start();
  await scene.clock.advance(10_000);
  const shop = '{connection="shop/vault"}';
  const other = '{connection="other/vault"}';
  const [listedAt = 0] = (
    await scene.samples("vaultsync_connection_last_success_timestamp_seconds")
  ).values();
  vault.latencyMs = 3_600_000;
  await scene.clock.advance(10 * MINUTE);
  const lastLists = await scene.samples("vaultsync_connection_last_success_timestamp_seconds");
  expect(scene.clock.now() / 1_000 - (lastLists.get(shop) ?? 0)).toBeGreaterThan(9 * 60);
  expect(lastLists.get(other)).toBeGreaterThan(listedAt);
  const ages = await scene.samples("vaultsync_connection_list_age_seconds");
  expect(ages.get(shop)).toBeCloseTo(scene.clock.now() / 1_000 - (lastLists.get(shop) ?? 0));
  expect(ages.get(other)).toBeLessThan(60);
  expect(await scene.samples("vaultsync_stale_resources")).toEqual(
    new Map([
      [shop, 2],
      [other, 0],
    ]),
  );
  expect(await scene.samples("vaultsync_circuit_breaker_open")).toEqual(
    new Map([
      [shop, 1],
      [other, 0],
    ]),
  );
  scene.server.delete(vaultConnectionKind, { namespace: "shop", name: "vault" }, {});
  await scene.clock.advance(30_000);
  for (const name of [
    "connection_last_success_timestamp_seconds",
    "connection_list_age_seconds",
    "stale_resources",
    "circuit_breaker_open",
  ]) {
    expect([...(await scene.samples(`vaultsync_${name}`)).keys()]).toEqual([other]);
  }
  expect(await scene.samples("vaultsync_connections")).toEqual(new Map([["", 1]]));
});

test("resources are counted by their condition, without reasons that others invented", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b", "c"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  vault.remove("a");
  await scene.clock.advance(2 * MINUTE);
  const secret = { namespace: "shop", name: "d" };
  const invented = {
    conditions: [{ type: "Ready", status: "False", reason: "Invented", message: "" }],
  };
  const spec = {
    connectionRef: { name: "none" },
    suspend: true,
    data: [{ secretKey: "k", remoteRef: { key: "a" } }],
  };
  scene.server.create(vaultSecretKind, {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: secret,
    spec,
  });
  await scene.restart(() => {
    const { resourceVersion } = scene.server.get(vaultSecretKind, secret).metadata;
    scene.server.replaceStatus(vaultSecretKind, { ...secret, resourceVersion }, invented);
  });
  await scene.clock.advance(6);
  const samples = await scene.samples("vaultsync_resources");
  expect(samples.get('{kind="VaultSecret",ready="true",reason="Synced"}')).toBe(2);
  expect(samples.get('{kind="VaultSecret",ready="false",reason="SourceMissing"}')).toBe(1);
  expect(samples.get('{kind="VaultConnection",ready="true",reason="Synced"}')).toBe(1);
  expect([...samples.keys()].join("")).not.toMatch(/Invented/u);
});

test("resources are counted by each of their conditions, without those that others invented", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b", "c"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  const stale = '{kind="VaultSecret",condition="Stale"}';
  expect((await scene.samples("vaultsync_resource_conditions")).get(stale)).toBeUndefined();
  vault.latencyMs = 3_600_000;
  await scene.clock.advance(10 * MINUTE);
  const invented = { status: "True", reason: "Synced", message: "" };
  const key = { namespace: "shop", name: "other" };
  const spec = {
    connectionRef: { name: "none" },
    data: [{ secretKey: "k", remoteRef: { key: "a" } }],
  };
  scene.server.create(vaultSecretKind, {
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: key,
    spec,
  });
  const { resourceVersion } = scene.server.get(vaultSecretKind, key).metadata;
  scene.server.replaceStatus(
    vaultSecretKind,
    { ...key, resourceVersion },
    { conditions: [{ ...invented, type: "Invented" }] },
  );
  await scene.clock.advance(6);
  const samples = await scene.samples("vaultsync_resource_conditions");
  expect(samples.get(stale)).toBe(3);
  expect(samples.get('{kind="VaultConnection",condition="Stale"}')).toBe(1);
  expect([...samples.keys()].join("")).not.toMatch(/Invented|Ready/u);
});

test("a token has a lifetime next to its expiry, and one operator leads its only shard", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  const [expiry = 0] = (await scene.samples("vaultsync_token_expiry_timestamp_seconds")).values();
  const [lifetime = 0] = (await scene.samples("vaultsync_token_lifetime_seconds")).values();
  expect(expiry - lifetime).toBeLessThanOrEqual(scene.clock.now() / 1_000);
  expect(expiry - lifetime).toBeGreaterThan(scene.clock.now() / 1_000 - 120);
  expect([...(await scene.samples("vaultsync_shards")).values()]).toEqual([1]);
  expect([...(await scene.samples("vaultsync_shards_led")).values()]).toEqual([1]);
});

test("a connection that was never listed has an age since it was opened", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]).latencyMs = 3_600_000;
  scene.start();
  await scene.clock.advance(10 * MINUTE);
  const [age = 0] = (await scene.samples("vaultsync_connection_list_age_seconds")).values();
  expect(age).toBeGreaterThan(9 * 60);
  expect(await scene.samples("vaultsync_connection_last_success_timestamp_seconds")).toEqual(
    new Map(),
  );
});

test("a resource that is not ready does not count as done, and writes count by action", async () => {
  await using scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["a", "b"]);
  vault.remove("b");
  scene.start();
  await scene.clock.advance(MINUTE);
  const outcomes = async (): Promise<Map<string, number>> =>
    scene.samples("vaultsync_reconciles_total");
  const [notReady, done] = ["not_ready", "done"].map(
    (outcome) => `{controller="sync",outcome="${outcome}"}`,
  );
  expect((await outcomes()).get(notReady!)).toBe(1);
  const before = (await outcomes()).get(done!);
  scene.server.delete(vaultConnectionKind, { namespace: "shop", name: "vault" }, {});
  await scene.clock.advance(MINUTE);
  expect((await outcomes()).get(done!)).toBe(before);
  expect(await scene.samples("vaultsync_target_writes_total")).toEqual(
    new Map([['{kind="VaultSecret",action="created"}', 1]]),
  );
});

test("docs/monitoring.md names every metric and label that the operator serves", async () => {
  await using scene = new SimulatedWorld();
  scene.addVault("shop", ["a"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  const page = readFileSync(join(import.meta.dirname, "../../docs/monitoring.md"), "utf8");
  const text = await scene.metrics.text();
  const names = [...text.matchAll(/^# TYPE (\w+)/gmu)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  const labels = new Set([...text.matchAll(/[{,](\w+)="/gu)].map(([, label]) => label!));
  labels.delete("le");
  expect([...labels].filter((label) => !page.includes(`\`${label}\``))).toEqual([]);
});
