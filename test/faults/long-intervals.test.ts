import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { certificate, type Certificate } from "../lab/certificates.ts";
import { lines, lists, onRequests, watches } from "./support/api-faults.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { Lanes, type Lane, type LaneOptions } from "./support/lanes.ts";
import { isReady } from "../lab/real/resources.ts";
import type { Exchange, FaultProxy } from "../lab/real/fault-proxy.ts";
import { ProcessFaults } from "./support/process-faults.ts";

/**
 * Intervals of minutes, in a process whose timers run 20 times faster: resync, silence of a watch,
 * reading of a CA bundle.
 */
const machine = new ProcessFaults({ clockSpeed: 20 });
let proxy: FaultProxy;
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  machine[Symbol.dispose]();
});
const shared = Lanes.use(async () => {
  const started = await startApiProxy();
  proxy = started.proxy;
  return { accounts: 8, ...started.api, process: machine.options, args: ["--resync", "1m"] };
});

/** Names of objects whose deletion is lost. */
const lost = new Set<string>();
beforeAll(() => {
  const withoutLost = lines((line) => {
    const isLost =
      line.includes('"DELETED"') && [...lost].some((name) => line.includes(`"name":"${name}"`));
    return isLost ? [] : [line];
  });
  const isWatch = watches("secrets");
  proxy.inject(
    onRequests(
      (request) => isWatch(request) && !request.path.includes("sendInitialEvents"),
      withoutLost,
    ),
  );
});

/** A connection whose times are long enough for a process that lives faster. */
const patient = { refreshInterval: "60s", timeout: "100s", follow: "Interval" };
const lane = (name: string, options: LaneOptions = {}): Promise<Lane> =>
  shared.world.lane(name, { ...options, spec: { ...patient, ...options.spec } });

test.concurrent("K2: a deletion that the watch lost is found and repaired by the resync", async () => {
  const { world } = shared;
  await using one = await lane("k2-lost");
  const before = world.history.latest("Secret", one.name);
  lost.add(one.name);
  await world.delete("Secret", one.name);
  await one.until("Secret", ({ metadata }) => metadata.uid !== before?.metadata.uid);
  await one.inSync();
  expect(one.written).toEqual([one.values[0], "deleted", one.values[0]]);
});

test.concurrent("K2: a watch that is silent is replaced, and what it missed is found", async () => {
  using faster = new ProcessFaults({ clockSpeed: 30 });
  const { proxy: opened, api } = await startApiProxy();
  await using silenced = opened;
  // Without a resync, only the silence can end the watch.
  await using world = await Lanes.create({
    ...api,
    accounts: 1,
    process: faster.options,
    args: ["--resync", "0"],
  });
  let silent = 0;
  silenced.inject((exchange: Exchange) => {
    const { request, response } = exchange;
    const isList = request.path.includes("sendInitialEvents");
    if (isList || !watches("vaultsecrets")(request) || silent > 0) return exchange.relay();
    silent += 1;
    return response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  });
  await world.startOperator();
  const listed = (): number => silenced.requests.filter(lists("vaultsecrets")).length;
  await waitUntil("the watch is silent", () => silent > 0);
  // On a slow machine, the first list may take longer than its deadline on the fast clock.
  const before = listed();
  await using one = await world.lane("k2-silent", { spec: patient });
  expect(one.written).toEqual([one.values[0]]);
  expect(listed()).toBe(before);
});

const UNTRUSTED = /UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|SELF_SIGNED|SIGNATURE/;
const pem = (...authorities: readonly Certificate[]): string =>
  authorities.map(({ cert }) => cert).join("");
const served = (issuer: Certificate) => {
  const { cert, keyPem: key } = certificate("vault", { issuer, hosts: ["127.0.0.1"] });
  return { cert, key };
};

/**
 * Creates the CA bundle of a lane, and the lane, whose proxy has a certificate of this authority.
 */
async function trusting(name: string, authority: Certificate): Promise<Lane> {
  await shared.world.create({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name },
    data: { "ca.crt": pem(authority) },
  });
  return lane(name, { tls: served(authority), spec: { caBundleRef: { kind: "ConfigMap", name } } });
}

/**
 * Changes the CA bundle of a lane, and waits until the operator has read it: at least every 5 min,
 * 15 s here.
 */
async function changeBundle({ name }: Lane, ...authorities: readonly Certificate[]): Promise<void> {
  const path = `/configmaps/${name}`;
  const reads = (): number =>
    proxy.requests.filter((request) => request.path.endsWith(path)).length;
  await shared.world.patch("ConfigMap", name, { data: { "ca.crt": pem(...authorities) } });
  const before = reads();
  await waitUntil("the bundle is read", () => reads() > before, 30_000);
}

/**
 * Makes a change after which the operator reconnects, and waits until the vault has received a
 * request over a new connection.
 */
async function reconnects({ proxy: vault }: Lane, change: () => unknown): Promise<void> {
  const before = new Set(vault.requests.map(({ remotePort }) => remotePort));
  await change();
  const isNew = (): boolean => vault.requests.some(({ remotePort }) => !before.has(remotePort));
  await waitUntil("the vault receives a request over a new connection", isNew, 30_000);
}

test.concurrent("V9: a CA bundle with the old and the new authority lets a certificate change unnoticed", async () => {
  const { history } = shared.world;
  const [old, next] = [certificate("Old CA"), certificate("New CA")];
  await using one = await trusting("v9-rotated", old);
  const from = history.versions("VaultConnection", one.name).length;
  await changeBundle(one, old, next);
  await reconnects(one, () => one.proxy.renewCertificate(served(next)));
  await reconnects(one, () => changeBundle(one, next));
  const value = await one.protect();
  await one.inSync();
  expect(one.written).toEqual([one.values[0], value]);
  expect(
    history
      .versions("VaultConnection", one.name)
      .slice(from)
      .filter((each) => !isReady(each)),
  ).toEqual([]);
  one.proxy.useCertificate(served(old));
  await one.connectionReports(undefined, UNTRUSTED);
});

test.concurrent("V9: a certificate of a new authority is refused until the CA bundle contains it", async () => {
  const { world } = shared;
  const [old, next] = [certificate("Old CA"), certificate("New CA")];
  await using one = await trusting("v9-late", old);
  const sent = one.proxy.requests.length;
  one.proxy.useCertificate(served(next));
  await one.connectionReports(undefined, UNTRUSTED);
  expect(one.proxy.requests.length).toBe(sent);
  await world.patch("ConfigMap", one.name, { data: { "ca.crt": pem(next) } });
  const value = await one.protect();
  await one.inSync();
  expect(one.written).toEqual([one.values[0], value]);
});

test("no value appears in the log of the operator", () => {
  expect(shared.world.canaries.tracesIn({ log: shared.world.operator.log })).toEqual([]);
});
