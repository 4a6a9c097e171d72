import { expect, test } from "vitest";
import { serveEndpoints } from "./endpoints.ts";
import { MetricsRegistry } from "./metrics-registry.ts";

const listen = { host: "127.0.0.1", port: 0 };

test("metrics that cannot be collected are a 500, and the process continues", async () => {
  const metrics = new MetricsRegistry();
  let fails = true;
  metrics.gauge({ name: "depth", help: "Depth." }, (gauge) => {
    if (fails) throw new Error("canary-41d0b6e2");
    gauge.set(3);
  });
  await using endpoints = await serveEndpoints({
    listen,
    metrics,
    readiness: () => ({ ready: true }),
  });
  const failed = await fetch(`http://127.0.0.1:${endpoints.port}/metrics`);
  expect(failed.status).toBe(500);
  expect(await failed.text()).not.toContain("canary");
  fails = false;
  const response = await fetch(`http://127.0.0.1:${endpoints.port}/metrics?name=depth`);
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("depth 3");
});

test.each([
  ["/healthz", 200, 200],
  ["/readyz", 503, 200],
  ["/other", 404, 404],
])("%s responds with %d before and %d after the process is ready", async (path, before, after) => {
  let ready = false;
  await using endpoints = await serveEndpoints({
    listen,
    metrics: new MetricsRegistry(),
    readiness: () => ({ ready }),
  });
  const url = `http://127.0.0.1:${endpoints.port}${path}`;
  expect((await fetch(url)).status).toBe(before);
  ready = true;
  expect((await fetch(url)).status).toBe(after);
});

test.each([
  [{ ready: false, problem: "no list" }, 503, "not ready: no list\n"],
  [{ ready: false }, 503, "not ready: see the log\n"],
  [{ ready: true, problem: "no list" }, 200, "ok, but: no list\n"],
  [{ ready: true }, 200, "ok\n"],
])("/readyz says what is wrong with a process that is %j", async (readiness, status, body) => {
  await using endpoints = await serveEndpoints({
    listen,
    metrics: new MetricsRegistry(),
    readiness: () => readiness,
  });
  const response = await fetch(`http://127.0.0.1:${endpoints.port}/readyz`);
  expect(response.status).toEqual(status);
  expect(await response.text()).toEqual(body);
});
