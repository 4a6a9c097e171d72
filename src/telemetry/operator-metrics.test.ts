import { expect, test } from "vitest";
import { packageVersion } from "../lib/package-version.ts";
import { MetricsRegistry } from "./metrics-registry.ts";
import { operatorMetrics, type ConnectionSample, type ResourceSample } from "./operator-metrics.ts";
import { NO_SAMPLES } from "../../test/lab/monitoring/rules.ts";

const sample: ConnectionSample = {
  connection: "shop/vault",
  listedAt: 1_800_000_000_500,
  listAgeMs: 2_500,
  staleResources: 3,
  tokenExpiresAt: undefined,
  tokenLifetimeMs: undefined,
  circuitBreakerOpen: true,
};

async function samplesOf(registry: MetricsRegistry): Promise<string[]> {
  return (await registry.text())
    .split("\n")
    .filter((line) => /^vaultsync_.*\{?(connection|controller)/u.test(line));
}

test("a connection has series until it is deleted, and none for what is unknown", async () => {
  const registry = new MetricsRegistry();
  let connections: ConnectionSample[] = [
    sample,
    {
      ...sample,
      connection: "shop/other",
      tokenExpiresAt: 1_800_000_100_000,
      tokenLifetimeMs: 60_000,
    },
  ];
  operatorMetrics(registry, () => ({ ...NO_SAMPLES, connections }));
  expect(await samplesOf(registry)).toEqual([
    "vaultsync_connections 2",
    'vaultsync_connection_last_success_timestamp_seconds{connection="shop/vault"} 1800000000.5',
    'vaultsync_connection_last_success_timestamp_seconds{connection="shop/other"} 1800000000.5',
    'vaultsync_connection_list_age_seconds{connection="shop/vault"} 2.5',
    'vaultsync_connection_list_age_seconds{connection="shop/other"} 2.5',
    'vaultsync_stale_resources{connection="shop/vault"} 3',
    'vaultsync_stale_resources{connection="shop/other"} 3',
    'vaultsync_token_expiry_timestamp_seconds{connection="shop/other"} 1800000100',
    'vaultsync_token_lifetime_seconds{connection="shop/other"} 60',
    'vaultsync_circuit_breaker_open{connection="shop/vault"} 1',
    'vaultsync_circuit_breaker_open{connection="shop/other"} 1',
  ]);
  connections = [{ ...sample, listedAt: undefined, circuitBreakerOpen: false }];
  expect(await samplesOf(registry)).toEqual([
    "vaultsync_connections 1",
    'vaultsync_connection_list_age_seconds{connection="shop/vault"} 2.5',
    'vaultsync_stale_resources{connection="shop/vault"} 3',
    'vaultsync_circuit_breaker_open{connection="shop/vault"} 0',
  ]);
});

const shop = { kind: "VaultSecret", namespace: "shop" } as const;

test("each namespace has series of its resources by state, and of their conditions", async () => {
  const registry = new MetricsRegistry();
  let resources: ResourceSample[] = [
    { ...shop, ready: "false", reason: "SourceMissing", count: 2 },
    { ...shop, ready: "false", reason: "InvalidSpec", count: 1 },
    { ...shop, ready: "false", reason: "ConnectionNotReady", count: 5 },
    { ...shop, ready: "unknown", reason: "Suspended", count: 1 },
    { ...shop, namespace: "billing", ready: "true", reason: "Synced", count: 3 },
    { kind: "ClusterVaultConnection", namespace: "", ready: "true", reason: "Synced", count: 1 },
  ];
  const conditions = [{ ...shop, condition: "ExpiringSoon", count: 2 }];
  operatorMetrics(registry, () => ({ ...NO_SAMPLES, resources, conditions }));
  const lines = async (): Promise<string[]> =>
    (await registry.text()).split("\n").filter((line) => line.startsWith("vaultsync_namespace_r"));
  const ofShop = 'resource_namespace="shop",kind="VaultSecret"';
  const ofConditions = `vaultsync_namespace_resource_conditions{${ofShop},condition="ExpiringSoon"} 2`;
  expect(await lines()).toEqual([
    `vaultsync_namespace_resources{${ofShop},state="not_ready"} 3`,
    `vaultsync_namespace_resources{${ofShop},state="waiting"} 5`,
    `vaultsync_namespace_resources{${ofShop},state="unknown"} 1`,
    'vaultsync_namespace_resources{resource_namespace="billing",kind="VaultSecret",state="ready"} 3',
    'vaultsync_namespace_resources{resource_namespace="",kind="ClusterVaultConnection",state="ready"} 1',
    ofConditions,
  ]);
  resources = [];
  expect(await lines()).toEqual([ofConditions]);
});

test("the version of the operator is a metric, and failed restarts begin with zero", async () => {
  const registry = new MetricsRegistry();
  operatorMetrics(registry, () => NO_SAMPLES);
  const text = await registry.text();
  expect(text).toContain(`vaultsync_build_info{version="${packageVersion()}"} 1`);
  expect(text).toContain('vaultsync_restarts_total{kind="StatefulSet",outcome="failed"} 0');
});

test("resources are counted by kind and condition", async () => {
  const registry = new MetricsRegistry();
  let resources: ResourceSample[] = [
    { ...shop, ready: "false", reason: "SourceMissing", count: 2 },
    { ...shop, ready: "true", reason: "Synced", count: 4 },
    { ...shop, namespace: "billing", ready: "true", reason: "Synced", count: 3 },
  ];
  operatorMetrics(registry, () => ({ ...NO_SAMPLES, resources }));
  const lines = async () =>
    (await registry.text()).split("\n").filter((line) => line.startsWith("vaultsync_resources{"));
  expect(await lines()).toEqual([
    'vaultsync_resources{kind="VaultSecret",ready="false",reason="SourceMissing"} 2',
    'vaultsync_resources{kind="VaultSecret",ready="true",reason="Synced"} 7',
  ]);
  resources = [{ ...shop, ready: "true", reason: "Synced", count: 9 }];
  expect(await lines()).toEqual([
    'vaultsync_resources{kind="VaultSecret",ready="true",reason="Synced"} 9',
  ]);
});

test("a work queue shows its depth, the age of its oldest key and its retries", async () => {
  const registry = new MetricsRegistry();
  const queues = [{ controller: "sync", depth: 2, oldestAgeMs: 1_500, retrying: 1 }];
  operatorMetrics(registry, () => ({ ...NO_SAMPLES, queues }));
  expect(await samplesOf(registry)).toEqual([
    'vaultsync_workqueue_depth{controller="sync"} 2',
    'vaultsync_workqueue_oldest_age_seconds{controller="sync"} 1.5',
    'vaultsync_workqueue_retrying{controller="sync"} 1',
    "vaultsync_connections 0",
  ]);
});

test("conditions are counted by kind, and shards as configured and led", async () => {
  const registry = new MetricsRegistry();
  const conditions = [{ ...shop, condition: "Stale", count: 2 }];
  operatorMetrics(registry, () => ({
    ...NO_SAMPLES,
    conditions,
    shards: { configured: 4, led: 3 },
    namespaces: new Map(),
  }));
  const lines = (await registry.text()).split("\n");
  expect(lines).toContain('vaultsync_resource_conditions{kind="VaultSecret",condition="Stale"} 2');
  expect(lines).toContain("vaultsync_shards 4");
  expect(lines).toContain("vaultsync_shards_led 3");
});
