import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { MetricsRegistry } from "./metrics-registry.ts";

test("text contains counters, gauges and histograms", async () => {
  const registry = new MetricsRegistry();
  registry
    .counter({ name: "calls_total", help: "Calls.", labels: ["operation"] })
    .inc({ operation: "list" }, 2);
  registry.gauge({ name: "depth", help: "Depth." }).set(7);
  registry.histogram({ name: "wait_seconds", help: "Wait." }, [0.1, 1]).observe(0.5);
  const lines = (await registry.text()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'calls_total{operation="list"} 2',
      "depth 7",
      'wait_seconds_bucket{le="1"} 1',
    ]),
  );
  expect(registry.contentType).toMatch(/^text\/plain/u);
});

test("registries are isolated from each other", async () => {
  const [one, other] = [new MetricsRegistry(), new MetricsRegistry()];
  one.counter({ name: "calls_total", help: "Calls." }).inc();
  other.counter({ name: "calls_total", help: "Calls." });
  expect(await other.text()).toContain("calls_total 0");
});

test("a series that is not collected any more is removed", async () => {
  const registry = new MetricsRegistry();
  const objects = new Map([
    ["a", 1],
    ["b", 2],
  ]);
  registry.gauge({ name: "size", help: "Size.", labels: ["object"] }, (gauge) => {
    for (const [object, size] of objects) gauge.set({ object }, size);
  });
  expect(await registry.text()).toContain('size{object="b"} 2');
  objects.delete("b");
  const text = await registry.text();
  expect(text).toContain('size{object="a"} 1');
  expect(text).not.toContain('object="b"');
});

test("the lag of the event loop does not contain the time between two measurements", async () => {
  const registry = new MetricsRegistry();
  registry.addProcessMetrics();
  await sleep(500);
  const [, least = ""] =
    /^nodejs_eventloop_lag_min_seconds (.+)$/mu.exec(await registry.text()) ?? [];
  expect(Number(least)).toBeLessThan(0.1);
  expect(least).not.toBe("");
});

test("only counters have a name that ends with _total", async () => {
  const registry = new MetricsRegistry();
  registry.addProcessMetrics();
  const types = [...(await registry.text()).matchAll(/^# TYPE (\w+_total) (\w+)$/gmu)];
  expect(types.filter(([, , type]) => type !== "counter")).toEqual([]);
  expect(types.length).toBeGreaterThan(0);
});
