import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { condition, secretThrough, isReady } from "../lab/real/resources.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { Lanes, type Lane } from "./support/lanes.ts";
import { FaultProxy, type Fault } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";
import { ProcessFaults } from "./support/process-faults.ts";

/**
 * The network between the operator and the vault fails, or the vault asks for a delay, or leads
 * elsewhere.
 */
const machine = new ProcessFaults();
afterAll(() => machine[Symbol.dispose]());
const shared = Lanes.use(() => ({ accounts: 30, process: machine.options }));

/**
 * Stores the next version while the fault hides it from the operator, and checks that it is synced
 * once the fault has ended.
 */
async function expectRecovery(lane: Lane): Promise<void> {
  expect(lane.written).toEqual([lane.values[0]]);
  const value = await lane.protect();
  await lane.proxy.heal();
  await lane.inSync();
  expect(lane.written).toEqual([lane.values[0], value]);
}

/** Returns the value of the gauge of stale resources for the connection of a lane. */
async function staleResources({ name }: Lane): Promise<number> {
  const { operator, namespace } = shared.world;
  const { body } = await operator.page("/metrics");
  const sample = `vaultsync_stale_resources{connection="${namespace}/${name}"} `;
  return Number(
    body
      .split("\n")
      .find((line) => line.startsWith(sample))
      ?.slice(sample.length),
  );
}

test.concurrent("V1: refused connections make a connection VaultUnreachable and its resources Stale", async () => {
  await using lane = await shared.world.lane("v1-refused");
  expect(await staleResources(lane)).toBe(0);
  await lane.proxy.refuse();
  await lane.connectionReports("VaultUnreachable", /ECONNREFUSED/);
  const stale = await lane.until(
    "VaultSecret",
    (one) => condition(one, "Stale")?.status === "True",
  );
  expect(isReady(stale)).toBe(true);
  expect(await staleResources(lane)).toBe(1);
  await expectRecovery(lane);
  await lane.until("VaultSecret", (one) => condition(one, "Stale")?.status !== "True");
  expect(await staleResources(lane)).toBe(0);
});

test.concurrent("V1: connections that are reset after they are accepted change nothing", async () => {
  await using lane = await shared.world.lane("v1-reset");
  lane.proxy.injectOnConnect((socket) => socket.resetAndDestroy());
  await lane.connectionReports("VaultUnreachable");
  await expectRecovery(lane);
});

test.concurrent("V1: a vault that accepts connections and never responds ends with a timeout", async () => {
  await using lane = await shared.world.lane("v1-silent");
  lane.proxy.inject(faults.silence);
  await lane.connectionReports("VaultUnreachable", /no response from .* in time/);
  await expectRecovery(lane);
});

test.concurrent("V1: a server that does not speak HTTP changes nothing", async () => {
  await using lane = await shared.world.lane("v1-garbage");
  lane.proxy.inject(({ socket }) => socket.end("SSH-2.0-OpenSSH_9.6\r\n"));
  await lane.connectionReports("VaultUnreachable");
  await expectRecovery(lane);
});

/** Fails the requests of a lane and returns the gaps between them, in milliseconds. */
async function gapsWhile(lane: Lane, fault: Fault, count: number): Promise<number[]> {
  lane.proxy.inject(fault);
  const from = lane.proxy.requests.length;
  await waitUntil(
    `${count} requests of ${lane.name}`,
    () => lane.proxy.requests.length >= from + count,
    150_000,
  );
  const times = lane.proxy.requests.slice(from).map(({ at }) => at);
  return times.slice(1).map((at, index) => at - times[index]!);
}

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString();

test.concurrent.each([
  { row: "V3", status: 503, value: () => "4", atLeastMs: 4_000, reason: "VaultUnreachable" },
  { row: "V4", status: 429, value: () => "4", atLeastMs: 4_000, reason: "RateLimited" },
  { row: "V4", status: 429, value: () => inSeconds(5), atLeastMs: 4_000, reason: "RateLimited" },
  { row: "V4", status: 429, value: () => "soon", atLeastMs: 1_000, reason: "RateLimited" },
  { row: "V4", status: 429, value: () => "-7", atLeastMs: 1_000, reason: "RateLimited" },
])(
  "$row: retries after status $status no earlier than its Retry-After ($atLeastMs ms, $value)",
  async (row) => {
    await using lane = await shared.world.lane(
      `${row.row}-${row.status}-${row.value().replaceAll(/[^0-9a-z]+/gi, "-")}`.toLowerCase(),
    );
    const fault: Fault = (exchange) =>
      faults.page(row.status, { "retry-after": row.value() })(exchange);
    const gaps = await gapsWhile(lane, fault, 3);
    // Timers of two processes differ by a few milliseconds.
    for (const gap of gaps) expect(gap).toBeGreaterThan(row.atLeastMs - 50);
    await lane.connectionReports(row.reason);
    await expectRecovery(lane);
  },
);

test.concurrent("V4: a Retry-After of years stops the requests of the connection", async () => {
  await using lane = await shared.world.lane("v4-years");
  lane.proxy.inject(faults.page(429, { "retry-after": "1000000000" }));
  await lane.connectionReports("RateLimited");
  const sent = lane.proxy.requests.length;
  await sleep(11_000);
  expect(lane.proxy.requests.length).toBe(sent);
  expect(lane.written).toEqual([lane.values[0]]);
});

test.concurrent("V4: responses with 429 reduce the rate of the next requests", async () => {
  const { world } = shared;
  await using lane = await world.lane("v4-rate", { spec: { requestsPerSecond: 20 } });
  const names = Array.from({ length: 12 }, (_, index) => `v4-rate-${index}`);
  for (const key_name of names)
    await lane.client.call("protect", { key_name, key_value: world.canaries.text(key_name) });
  const expose = operationPath.version_expose;
  const before = lane.proxy.to(expose).length;
  const limited = faults.page(429, { "retry-after": "1" });
  const isLimited = (): boolean => lane.proxy.to(expose).length <= before + names.length;
  lane.proxy.inject(
    faults.on("version_expose", (exchange) => (isLimited() ? limited(exchange) : exchange.relay())),
  );
  const keys = Object.fromEntries(names.map((name) => [name, name]));
  await world.create(secretThrough(lane.name, "v4-many", keys));
  await world.history.until("VaultSecret", "v4-many", isReady);
  const exposed = lane.proxy.to(expose).slice(-names.length);
  // At the full rate they are one burst. A sixteenth of it is restored by the successes within some
  // 3 s.
  expect(exposed.at(-1)!.at - exposed[0]!.at).toBeGreaterThan(1_500);
  await world.delete("VaultSecret", "v4-many");
  await lane.proxy.heal();
});

test.concurrent.each([301, 302, 303, 307, 308])(
  "V8: a redirect %i to another host is not followed",
  async (status) => {
    await using trap = await FaultProxy.start({ url: shared.world.vault.url });
    await using lane = await shared.world.lane(`v8-${status}`);
    lane.proxy.inject(({ request, response }) =>
      response.writeHead(status, { location: `${trap.url}${request.path}` }).end(),
    );
    const { message } = await lane.connectionReports(undefined, /redirect/);
    expect(message).not.toContain(trap.url);
    await expectRecovery(lane);
    expect(trap.requests).toEqual([]);
  },
);

test.concurrent.each([
  { fault: "NXDOMAIN", code: "ENOTFOUND", message: /ENOTFOUND/ },
  { fault: "SERVFAIL", code: "EAI_AGAIN", message: /EAI_AGAIN/ },
  { fault: "no response of the name server", code: "silence", message: /in time|no connection/ },
])("V10: $fault is reported and resolved again", async ({ code, message }) => {
  const host = `v10-${code.toLowerCase().replace("_", "-")}.test`;
  machine.set({ hosts: { [host]: ["127.0.0.1"] } });
  await using lane = await shared.world.lane(host.replace(".test", ""), { host });
  machine.set({ hosts: { [host]: code } });
  lane.proxy.reset();
  await lane.connectionReports("VaultUnreachable", message);
  machine.set({ hosts: { [host]: ["127.0.0.1"] } });
  await expectRecovery(lane);
});

test.concurrent("V10: a name with another address is followed after the first failure", async () => {
  const host = "v10-moved.test";
  machine.set({ hosts: { [host]: ["127.0.0.1"] } });
  await using lane = await shared.world.lane("v10-moved", { host });
  await using moved = await FaultProxy.start(
    { url: shared.world.vault.url },
    { host: "127.0.0.2", port: lane.proxy.port },
  );
  machine.set({ hosts: { [host]: ["127.0.0.2"] } });
  await lane.proxy.refuse();
  await lane.protect();
  await lane.inSync();
  expect(moved.requests.length).toBeGreaterThan(0);
});

test.concurrent.each(["169.254.169.254", "0.0.0.0", "100.100.100.200"])(
  "V10: a name rebound to %s is refused without a connection",
  async (address) => {
    const host = `v10-${address.replaceAll(".", "-")}.test`;
    machine.set({ hosts: { [host]: ["127.0.0.1"] } });
    await using lane = await shared.world.lane(host.replace(".test", ""), { host });
    machine.set({ hosts: { [host]: ["127.0.0.1", address] } });
    const sent = lane.proxy.requests.length;
    lane.proxy.reset();
    await lane.connectionReports(undefined, /address/);
    expect(lane.proxy.requests.length).toBe(sent);
    machine.set({ hosts: { [host]: ["127.0.0.1"] } });
    await expectRecovery(lane);
  },
);

test.concurrent("V10: without --allow-http a name rebound to loopback is refused without a connection", async () => {
  const rebound = {
    "v10-ipv4.test": "127.0.0.1",
    "v10-ipv6.test": "::1",
    "v10-mapped.test": "::ffff:127.0.0.1",
  };
  const hosts = Object.keys(rebound);
  using names = new ProcessFaults({
    hosts: Object.fromEntries(hosts.map((host) => [host, "ENOTFOUND"])),
  });
  await using world = await Lanes.create({
    accounts: 1,
    process: { ...names.options, allowHttp: false },
  });
  await world.startOperator();
  await using trap = await FaultProxy.start({ url: world.vault.url }, { host: "::" });
  let connections = 0;
  trap.injectOnConnect(() => (connections += 1));
  const { email, password } = await world.account();
  for (const host of hosts)
    await world.connection(host, { url: `https://${host}:${trap.port}`, email, password });
  const reported = (message: RegExp) =>
    Promise.all(
      hosts.map((host) =>
        world.history.until("VaultConnection", host, (one) =>
          message.test(condition(one, "Ready")?.message ?? ""),
        ),
      ),
    );
  await reported(/ENOTFOUND/);
  names.set({
    hosts: Object.fromEntries(Object.entries(rebound).map(([host, address]) => [host, [address]])),
  });
  await reported(/address/);
  expect(connections).toBe(0);
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
