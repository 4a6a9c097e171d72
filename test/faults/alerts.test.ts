import { buffer } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { expiringCertificate } from "../lab/certificates.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { expectAlerts, expectAlertsSoon } from "../lab/monitoring/expect-alerts.ts";
import { scrape, valueIn, type Scrape } from "../lab/monitoring/scrape.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { onRequests, status } from "./support/api-faults.ts";
import { startApiProxy } from "./support/api-proxy.ts";
import { Lanes, type Lane, type LaneOptions, createReplicaAccount } from "./support/lanes.ts";
import { isReady, secretThrough } from "../lab/real/resources.ts";
import { barePod, installRollouts, workload, Workloads } from "../lab/real/workloads.ts";
import type { Fault, ProxiedRequest } from "../lab/real/fault-proxy.ts";
import * as faults from "./support/faults.ts";
import { ProcessFaults } from "./support/process-faults.ts";

/**
 * Each alert of deploy/monitoring/operator fires for the metrics of a process in a fault, and none
 * for the same process before it.
 */
const fast = new ProcessFaults({ clockSpeed: 10 });
const disposed = new AsyncDisposableStack();
afterAll(async () => {
  await disposed.disposeAsync();
  fast[Symbol.dispose]();
});

const labelsOf = (pod: string): Record<string, string> => ({ namespace: "vaultsync-system", pod });
const scrapeOf = ({ port }: OperatorProcess, pod = "a"): Promise<Scrape> =>
  scrape(`http://127.0.0.1:${port}`, labelsOf(pod));

/** Returns the value of a series, NaN without one. */
const seriesOf = ({ text }: Scrape, series: string): number => valueIn(text, series) ?? Number.NaN;

/** Scrapes until the value of a series satisfies `matches`. */
async function scrapeUntil(
  operator: OperatorProcess,
  series: string,
  matches: (value: number) => boolean,
): Promise<Scrape> {
  let last = await scrapeOf(operator);
  await waitUntil(
    series,
    async () => matches(seriesOf((last = await scrapeOf(operator)), series)),
    150_000,
  );
  return last;
}

/**
 * Responds to logins and refreshes with a token of a minute, the shortest lifetime that the
 * operator follows.
 */
const shortLived: Fault = faults.on(
  ["generate_access_token", "refresh_token"],
  async ({ forward, response }) => {
    const upstream = await forward();
    const body = { ...(JSON.parse((await buffer(upstream)).toString()) as object), expires_in: 60 };
    response
      .writeHead(upstream.statusCode ?? 0, { "content-type": "application/json" })
      .end(JSON.stringify(body));
  },
);

/** A connection whose times are long enough for a process that lives faster. */
const patient = { refreshInterval: "30s", timeout: "60s", follow: "Interval" };

const keysOf = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name]));

const removedNames = Array.from({ length: 5 }, (_, index) => `removed-${index}`);
const blockedNames = Array.from({ length: 6 }, (_, index) => `blocked-${index}`);
const blocked = ({ method, path, body }: ProxiedRequest): boolean =>
  method !== "GET" &&
  /\/api\/v1\/.*\/secrets/u.test(path) &&
  /blocked-\d/u.test(path + body.toString());

/**
 * Causes faults of everything but the network to the vault, and waits until the operator shows
 * them.
 */
async function causeFaults({
  world,
  api,
  lanes,
}: Awaited<ReturnType<typeof start>>): Promise<void> {
  const { expiring, removed, reachable } = lanes;
  await expiring.client.call("protect", {
    key_name: "expiring",
    key_value: expiringCertificate(),
  });
  for (const key_name of removedNames) await removed.client.call("delete", { key_name });
  api.proxy.inject(
    onRequests(blocked, status(500, "InternalError", "etcdserver: request timed out")),
  );
  await world.create(secretThrough("reachable", "missing", { absent: "absent" }));
  for (const name of blockedNames)
    await world.create(secretThrough("reachable", name, { reachable: "reachable" }));
  await world.apply(barePod("waits-for-held", "held"));
  const held = secretThrough("reachable", "held", { reachable: "reachable" });
  const annotations = { "vaultsync.dev/hold": "*" };
  await world.create({ ...held, metadata: { ...held.metadata, annotations } });
  await reachable.client.call("protect", {
    key_name: "approved",
    key_value: world.canaries.text("approved-2"),
  });
  for (const [kind, type] of [
    ["VaultSecret", "Held"],
    ["VaultSecret", "Converged"],
    ["VaultSecret", "ExpiringSoon"],
    ["VaultSecret", "AwaitingApproval"],
    ["VaultConnection", "RemovalsHeld"],
  ]) {
    await scrapeUntil(
      world.operator,
      `vaultsync_resource_conditions{kind="${kind}",condition="${type}"}`,
      (value) => value === 1,
    );
  }
  await scrapeUntil(world.operator, missing, (value) => value > 0);
}

const missing = 'vaultsync_resources{kind="VaultSecret",ready="false",reason="SourceMissing"}';
const retries = 'vaultsync_reconciles_total{controller="sync",outcome="retry"}';

/** Starts an operator whose resources are all in sync. */
async function start() {
  const api = await startApiProxy();
  disposed.use(api.proxy);
  const world = disposed.use(
    await Lanes.create({ accounts: 5, process: fast.options, ...api.api }),
  );
  await world.startOperator();
  const lane = async (name: string, options: LaneOptions = {}): Promise<Lane> =>
    disposed.use(await world.lane(name, { ...options, spec: { ...patient, ...options.spec } }));
  const [refused, token, expiring, removed, reachable] = await Promise.all([
    lane("refused"),
    lane("token", { fault: shortLived }),
    lane("expiring"),
    lane("removed"),
    lane("reachable", { spec: { refreshInterval: "60s" } }),
  ]);
  for (const key_name of removedNames)
    await removed.client.call("protect", { key_name, key_value: world.canaries.text(key_name) });
  await world.create(
    secretThrough("removed", "many", keysOf(removedNames), { whenMissing: "Delete" }),
  );
  await reachable.client.call("protect", {
    key_name: "approved",
    key_value: world.canaries.text("approved-1"),
  });
  const approved = secretThrough("reachable", "approved", { approved: "approved" });
  const updates = { approval: "Required" };
  await world.create({ ...approved, spec: { ...approved.spec, updates } });
  for (const name of ["many", "approved"]) await world.history.until("VaultSecret", name, isReady);
  return { world, api, lanes: { refused, token, expiring, removed, reachable } };
}

test.concurrent("alerts of resources, connections, tokens and errors fire in faults, and none before", async () => {
  const started = await start();
  const { world, lanes } = started;
  const { operator, namespace } = world;
  const expiry = `vaultsync_token_expiry_timestamp_seconds{connection="${namespace}/token"}`;
  await expectAlertsSoon([], async () => {
    const first = await scrapeOf(operator);
    return [first, await scrapeUntil(operator, expiry, (value) => value > seriesOf(first, expiry))];
  });

  await causeFaults(started);
  const silent = ["refused", "token", "expiring", "removed"] as const;
  for (const name of silent) await lanes[name].proxy.refuse();
  for (const name of silent) {
    await scrapeUntil(
      operator,
      `vaultsync_circuit_breaker_open{connection="${namespace}/${name}"}`,
      (value) => value === 1,
    );
    await scrapeUntil(
      operator,
      `vaultsync_stale_resources{connection="${namespace}/${name}"}`,
      (value) => value > 0,
    );
  }
  const ofConnections = silent.map((name) => ({ connection: `${namespace}/${name}` }));
  await expectAlertsSoon(
    [
      ...ofConnections.map((labels) => ({ alertname: "VaultsyncCircuitOpen", ...labels })),
      ...ofConnections.map((labels) => ({ alertname: "VaultsyncStale", ...labels })),
      { alertname: "VaultsyncTokenExpiring", connection: `${namespace}/token` },
      { alertname: "VaultsyncNotReady", kind: "VaultConnection", resource_namespace: namespace },
      { alertname: "VaultsyncNotReady", kind: "VaultSecret", resource_namespace: namespace },
      { alertname: "VaultsyncExpiringSoon", kind: "VaultSecret", resource_namespace: namespace },
      { alertname: "VaultsyncHeld", kind: "VaultSecret", resource_namespace: namespace },
      { alertname: "VaultsyncNotConverged", kind: "VaultSecret", resource_namespace: namespace },
      {
        alertname: "VaultsyncRemovalsHeld",
        kind: "VaultConnection",
        resource_namespace: namespace,
      },
      { alertname: "VaultsyncReconcileErrors", controller: "sync" },
      { alertname: "VaultsyncRequestsFailing" },
    ],
    async () => {
      const before = await scrapeOf(operator);
      return [
        before,
        await scrapeUntil(operator, retries, (value) => value > seriesOf(before, retries) + 3),
      ];
    },
  );
  const alertname = "VaultsyncAwaitingApproval";
  const approval = { alertname, kind: "VaultSecret", resource_namespace: namespace };
  const days = { minutes: 73 * 60, alertname };
  await expectAlerts(
    "operator",
    [[await scrapeOf(operator), await scrapeOf(operator)]],
    [approval],
    days,
  );
});

test.concurrent("VaultsyncNoVault fires while the only vault refuses connections", async () => {
  const world = disposed.use(await Lanes.create({ accounts: 1, process: fast.options }));
  const operator = await world.startOperator();
  const lane = disposed.use(await world.lane("only", { spec: patient }));
  const connection = `${world.namespace}/only`;
  const series = (name: string): string => `vaultsync_${name}{connection="${connection}"}`;
  await lane.proxy.refuse();
  await scrapeUntil(operator, series("circuit_breaker_open"), (value) => value === 1);
  const before = await scrapeUntil(operator, series("stale_resources"), (value) => value > 0);
  const failures = 'vaultsync_client_requests_total{operation="list_no_dup",outcome="transient"}';
  const kind = "VaultConnection";
  await expectAlertsSoon(
    [
      { alertname: "VaultsyncNoVault" },
      { alertname: "VaultsyncCircuitOpen", connection },
      { alertname: "VaultsyncStale", connection },
      { alertname: "VaultsyncNotReady", kind, resource_namespace: world.namespace },
      { alertname: "VaultsyncRequestsFailing" },
    ],
    async () => [
      before,
      await scrapeUntil(operator, failures, (value) => value > seriesOf(before, failures) + 1),
    ],
  );
});

test.concurrent("VaultsyncRestartFailed fires when the new pods of a workload do not become ready", async () => {
  const world = disposed.use(await Lanes.create({ accounts: 1 }));
  await installRollouts(world.plane);
  const operator = await world.startOperator(["--no-leader-elect", "--restart-window", "1s"]);
  const lane = disposed.use(await world.lane("restarted"));
  await world.apply(workload("Rollout", "web"));
  const { spec, ...rest } = secretThrough("restarted", "web", { value: "restarted" });
  const rolloutRestart = [{ kind: "Rollout", name: "web" }];
  await world.create({ ...rest, spec: { ...spec, rolloutRestart } });
  const workloads = new Workloads(world.plane, world.namespace);
  const annotationsOf = async (): Promise<object> =>
    (await workloads.get("Rollout", "web")).metadata.annotations;
  await waitUntil(
    "the content of the pods is recorded",
    async () => "vaultsync.dev/restart-state" in (await annotationsOf()),
  );
  const failures = 'vaultsync_restarts_total{kind="Rollout",outcome="failed"}';
  const before = await scrapeUntil(operator, failures, (value) => value === 0);
  await expectAlerts("operator", [[before, await scrapeOf(operator)]], []);
  await lane.protect();
  await waitUntil(
    "the Rollout restarts",
    async () =>
      "vaultsync.dev/content" in
      (await workloads.get("Rollout", "web")).spec.template.metadata.annotations,
  );
  const { generation } = (await workloads.get("Rollout", "web")).metadata;
  const degraded = { phase: "Degraded", message: "aborted" };
  await workloads.report("web", { ...degraded, observedGeneration: String(generation) });
  const now = await scrapeUntil(operator, failures, (value) => value === 1);
  await expectAlerts(
    "operator",
    [[before, now]],
    [{ alertname: "VaultsyncRestartFailed", kind: "Rollout" }],
  );
});

test.concurrent("VaultsyncNamespaceUnavailable fires while a listed namespace does not exist", async () => {
  const world = disposed.use(await Lanes.create());
  const { plane, namespace } = world;
  await createReplicaAccount(world, "tenant");
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: "tenant", namespace });
  const gone = `${namespace}-gone`;
  const flags = [
    "--namespaces",
    `${namespace},${gone}`,
    "--namespace",
    namespace,
    "--no-leader-elect",
  ];
  const operator = disposed.use(await OperatorProcess.start(kubeconfig, flags));
  const series = `vaultsync_namespace_unavailable{served_namespace="${gone}"}`;
  const denied = [
    await scrapeOf(operator),
    await scrapeUntil(operator, series, (value) => value === 1),
  ] as const;
  await expectAlerts(
    "operator",
    [denied],
    [{ alertname: "VaultsyncNamespaceUnavailable", served_namespace: gone }],
  );
  await operator.stop();
  const next = disposed.use(
    await OperatorProcess.start(kubeconfig, ["--namespaces", namespace, ...flags.slice(2)]),
  );
  await expectAlerts("operator", [[await scrapeOf(next), await scrapeOf(next)]], []);
});

test.concurrent("VaultsyncQueueStuck fires while values never arrive through a connection", async () => {
  const world = disposed.use(await Lanes.create({ accounts: 1, process: fast.options }));
  const operator = await world.startOperator();
  const lane = disposed.use(
    await world.lane("slow", { spec: { ...patient, refreshInterval: "60s" } }),
  );
  const first = await scrapeOf(operator);
  await expectAlerts(
    "operator",
    [[first, await scrapeUntil(operator, depth, (value) => value === 0)]],
    [],
  );
  // Eight of them wait for the vault at a time.
  const names = Array.from({ length: 96 }, (_, index) => `slow-${index}`);
  lane.proxy.inject(faults.on(["expose", "version_expose"], faults.silence));
  for (const key_name of names)
    await lane.client.call("protect", { key_name, key_value: world.canaries.text(key_name) });
  await Promise.all(
    names.map((name) => world.create(secretThrough("slow", name, { [name]: name }))),
  );
  const before = await scrapeUntil(operator, depth, (value) => value > 48);
  await scrapeUntil(
    operator,
    'vaultsync_workqueue_oldest_age_seconds{controller="sync"}',
    (age) => age > 300,
  );
  await expectAlertsSoon(
    [
      { alertname: "VaultsyncQueueStuck", controller: "sync" },
      // What they wait for are requests that fail after their timeout.
      {
        alertname: "VaultsyncNotReady",
        kind: "VaultSecret",
        resource_namespace: world.namespace,
      },
      { alertname: "VaultsyncReconcileErrors", controller: "sync" },
      { alertname: "VaultsyncRequestsFailing" },
    ],
    async () => [before, await scrapeOf(operator)],
  );
});

const depth = 'vaultsync_workqueue_depth{controller="sync"}';

test.concurrent("alerts of leaders fire without a leader, with two, and without a process", async () => {
  const world = disposed.use(await Lanes.create());
  const { plane, namespace } = world;
  const first = await world.startOperator(["--no-leader-elect"]);
  const alone = [await scrapeOf(first), await scrapeOf(first)] as const;
  await expectAlerts("operator", [alone], []);

  const renewTime = new Date().toISOString().replace("Z", "000Z");
  const spec = {
    holderIdentity: "another",
    leaseDurationSeconds: 3_600,
    acquireTime: renewTime,
    renewTime,
  };
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  expect(
    (await plane.request("POST", leases, { metadata: { name: "vaultsync" }, spec })).status,
  ).toBe(201);
  await createReplicaAccount(world, "standby");
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount: "standby", namespace });
  const second = disposed.use(
    OperatorProcess.launch(kubeconfig, ["--namespaces", namespace, "--namespace", namespace]),
  );
  await second.waitForOutput(({ stderr }) => stderr.includes("not leading: lease") || undefined);
  const waiting = [await scrapeOf(second, "b"), await scrapeOf(second, "b")] as const;
  await expectAlerts("operator", [waiting], [{ alertname: "VaultsyncNoLeader" }]);

  await plane.request("DELETE", `${leases}/vaultsync`);
  await second.waitForOutput(
    ({ stderr }) => stderr.includes('"msg":"starting workers"') || undefined,
  );
  const leading = [waiting[0], await scrapeOf(second, "b")] as const;
  await expectAlerts("operator", [alone, leading], [{ alertname: "VaultsyncSeveralLeaders" }]);
  await expectAlerts("operator", [leading], []);

  await Promise.all([first.stop(), second.stop()]);
  await expect(scrapeOf(first)).rejects.toThrow("fetch failed");
  await expect(scrapeOf(second)).rejects.toThrow("fetch failed");
  await expectAlerts("operator", [], [{ alertname: "VaultsyncDown" }]);
});
