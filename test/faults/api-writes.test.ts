import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { collection, secretThrough, isReady, reports } from "../lab/real/resources.ts";
import { applied, status, writes } from "./support/api-faults.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { Lanes, type Lane } from "./support/lanes.ts";
import type { Exchange, Fault, FaultProxy } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";

/**
 * Writes at a real API server fail, conflict with others, or take effect although they seem to have
 * failed.
 */
let proxy: FaultProxy;
afterAll(() => proxy[Symbol.asyncDispose]());
const shared = Lanes.use(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  proxy.inject((exchange) =>
    active.reduce(
      (next: Fault, fault) => fault(next),
      (one: Exchange) => one.relay(),
    )(exchange),
  );
  return { ...started.api };
});

/** The faults of the tests in progress; each selects the requests for its own object. */
const active: ((next: Fault) => Fault)[] = [];

/**
 * Applies the fault to the first `count` writes of an object, and calls `seen` with the time of
 * each of its writes.
 */
function failFirst(
  count: number,
  resource: string,
  name: string,
  fault: Fault,
): { readonly times: number[] } {
  const selected = writes(resource, name);
  const times: number[] = [];
  active.push((next) => (exchange) => {
    if (!selected(exchange.request)) return next(exchange);
    times.push(exchange.request.at);
    return times.length <= count ? fault(exchange) : next(exchange);
  });
  return { times };
}

const timedOut = status(500, "InternalError", "etcdserver: request timed out");

test.concurrent.each([
  {
    row: "K5",
    what: "429 with Retry-After",
    fault: status(429, "TooManyRequests", "slow down", { "retry-after": "2" }),
    gapMs: 2_000,
  },
  {
    row: "K5",
    what: "503 with Retry-After",
    fault: status(503, "ServiceUnavailable", "busy", { "retry-after": "2" }),
    gapMs: 2_000,
  },
  { row: "K5", what: "504", fault: status(504, "Timeout", "timed out"), gapMs: 0 },
  { row: "K5", what: "a timeout of etcd", fault: timedOut, gapMs: 0 },
  {
    row: "K5",
    what: "a changed leader of etcd",
    fault: status(500, "InternalError", "etcdserver: leader changed"),
    gapMs: 0,
  },
  { row: "K5", what: "a page of a proxy", fault: faults.page(502), gapMs: 0 },
  { row: "K5", what: "a reset connection", fault: faults.reset, gapMs: 0 },
])("$row: $what instead of two writes is retried", async ({ what, fault, gapMs }) => {
  await using lane = await shared.world.lane(
    `k5-${what.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
  );
  const { times } = failFirst(2, "secrets", lane.name, fault);
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(times.length).toBe(3);
  for (const [index, at] of times.slice(1).entries())
    expect(at - times[index]!).toBeGreaterThan(gapMs - 50);
});

test.concurrent.each([
  ["an update", "504", applied(status(504, "Timeout", "timed out"))],
  ["an update", "a reset connection", applied(faults.reset)],
])("K5: %s that took effect, reported as %s, is not repeated", async (_, what, fault) => {
  await using lane = await shared.world.lane(`k5-applied-${what.replaceAll(" ", "-")}`);
  failFirst(1, "secrets", lane.name, fault);
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(shared.world.history.versions("Secret", lane.name).length).toBe(2);
});

test.concurrent("K5: a creation that took effect, reported as a timeout, is adopted", async () => {
  failFirst(1, "secrets", "k5-created", applied(timedOut));
  await using lane = await shared.world.lane("k5-created");
  expect(lane.written).toEqual([lane.values[0]]);
  expect(shared.world.history.versions("Secret", lane.name).length).toBe(1);
});

test.concurrent("K4: a concurrent change between read and write is a conflict, and both changes remain", async () => {
  const { world } = shared;
  await using lane = await world.lane("k4-conflict");
  failFirst(1, "secrets", lane.name, async ({ relay }) => {
    await world.patch("Secret", lane.name, { metadata: { labels: { "example.com/team": "a" } } });
    await relay();
  });
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
  expect(world.history.latest("Secret", lane.name)?.metadata["labels"]).toMatchObject({
    "example.com/team": "a",
  });
});

test.concurrent("K4: a Secret that another client creates first is not taken over", async () => {
  const { world } = shared;
  const name = "k4-foreign";
  const { client, email, password } = await world.account();
  await client.call("protect", { key_name: name, key_value: world.canaries.text(name) });
  failFirst(1, "secrets", name, async ({ relay }) => {
    await world.create({
      kind: "Secret",
      apiVersion: "v1",
      metadata: { name },
      stringData: { value: "foreign" },
    });
    await relay();
  });
  await world.connection(name, { url: world.vault.url, email, password });
  await world.create(secretThrough(name, name, { value: name }));
  await world.history.until("VaultSecret", name, (one) => reports(one, "TargetConflict"));
  await world.history.until("Secret", name, () => true);
  expect(world.history.values(name, "value")).toEqual(["foreign"]);
  expect(world.history.versions("Secret", name).length).toBe(1);
});

/**
 * Makes the Secret of a lane one that the API server does not let anyone change, and stores a new
 * version.
 */
async function replaceSecret(lane: Lane, fields: object): Promise<void> {
  const { world } = shared;
  const secret = world.history.latest("Secret", lane.name)!;
  const { labels, annotations, ownerReferences } = secret.metadata as Record<string, unknown>;
  await world.plane.request("DELETE", `${collection("Secret", world.namespace)}/${lane.name}`);
  await world.create({
    kind: "Secret",
    apiVersion: "v1",
    metadata: { name: lane.name, labels, annotations, ownerReferences },
    data: secret.data,
    ...fields,
  });
}

test.concurrent("K6: an immutable Secret is kept and reported, never deleted", async () => {
  const { world } = shared;
  await using lane = await world.lane("k6-immutable");
  await world.patch("Secret", lane.name, { immutable: true });
  const uid = world.history.latest("Secret", lane.name)?.metadata.uid;
  await lane.protect();
  await lane.secretReports("TargetImmutable");
  expect(lane.written).toEqual([lane.values[0]]);
  expect(world.history.latest("Secret", lane.name)?.metadata.uid).toBe(uid);
  await world.delete("Secret", lane.name);
  await lane.inSync();
});

test.concurrent("K6: a Secret of another type is kept and reported, never deleted", async () => {
  const { world } = shared;
  await using lane = await world.lane("k6-type");
  active.push((next) => async (exchange) => {
    // The operator may not create it again before the replacement exists.
    if (exchange.request.method === "POST" && writes("secrets", lane.name)(exchange.request))
      await sleep(1_000);
    return next(exchange);
  });
  await replaceSecret(lane, { type: "example.com/other" });
  await lane.secretReports("TargetImmutable");
  const uid = world.history.latest("Secret", lane.name)?.metadata.uid;
  await lane.protect();
  await sleep(6_000);
  expect(world.history.latest("Secret", lane.name)?.metadata.uid).toBe(uid);
  expect(world.history.latest("Secret", lane.name)?.["type"]).toBe("example.com/other");
});

test.concurrent("K6: an object that the API server rejects as too large is reported, and the target is kept", async () => {
  await using lane = await shared.world.lane("k6-large");
  failFirst(
    1,
    "secrets",
    lane.name,
    status(413, "RequestEntityTooLarge", "etcdserver: request is too large"),
  );
  await lane.protect();
  await lane.secretReports("TooLarge");
  expect(lane.written).toEqual([lane.values[0]]);
  const value = await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
});

test("K4: a status that another client has changed is written again", async () => {
  const { world } = shared;
  const before = active.length;
  failFirst(1, "vaultsecrets", "k4-status", async ({ relay }) => {
    await world.patch("VaultSecret", "k4-status", {
      metadata: { labels: { "example.com/team": "a" } },
    });
    await relay();
  });
  await using lane = await world.lane("k4-status");
  expect(active.length).toBe(before + 1);
  await lane.until("VaultSecret", isReady);
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
