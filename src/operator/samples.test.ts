import { expect, test, vi } from "vitest";
import { InMemoryKubeApi } from "../../test/lab/kube/in-memory-kube-api.ts";
import { VirtualClock } from "../../test/lab/clock/virtual-clock.ts";
import { silentLogger } from "../lib/logger.ts";
import { MetricsRegistry } from "../telemetry/metrics-registry.ts";
import { operatorMetrics } from "../telemetry/operator-metrics.ts";
import { createReflectors } from "./reflectors.ts";
import { operatorSamples } from "./samples.ts";

test("a scrape reads all resources once for their conditions Ready, and once for the others", async () => {
  const clock = new VirtualClock();
  const options = {
    isForCluster: true,
    watchSecrets: true,
    relistMs: 0,
    random: () => 0,
    logger: silentLogger,
  };
  const reflectors = createReflectors({ ...options, api: new InMemoryKubeApi(), clock });
  const reads = vi.spyOn(reflectors.secrets.store, "values");
  const registry = new MetricsRegistry();
  const watches = { denied: new Map() };
  const sources = {
    reflectors,
    watches,
    running: new Set<never>(),
    openCircuitBreakers: new Set<string>(),
    shards: 1,
  };
  operatorMetrics(registry, () => operatorSamples(sources));
  await registry.text();
  expect(reads).toHaveBeenCalledTimes(2);
});
