import { afterAll, beforeAll, expect, test } from "vitest";
import { chosenRelease, oldest } from "../lab/control-plane/binaries/version.ts";
import type { ConnectionProxy } from "../lab/control-plane/connection-proxy.ts";
import { sharedControlPlane } from "../lab/kube/control-plane.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import type { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { OPERATOR_USER, World } from "../lab/real/world.ts";
import { condition, vaultSecret } from "../lab/real/resources.ts";

/**
 * Cost of the operator in requests, counted at the vault and at the API server instead of by the
 * operator itself.
 */
const RESOURCES = 200;
const INTERVALS = 5;

let proxy: ConnectionProxy;
let world: World;
let operator: OperatorProcess;
beforeAll(async () => {
  proxy = await (await sharedControlPlane()).connectionProxy();
  world = await World.create({ server: proxy.server });
  const names = Array.from({ length: RESOURCES }, (_, index) => `quiet-${index}`);
  for (const name of names) await world.protect(name, world.canaries.text(name));
  await world.apply(...names.map((name) => vaultSecret(name, { password: name })));
  operator = await world.startOperator();
  await waitUntil(
    "all resources are Ready",
    async () => {
      const resources = await world.list("VaultSecret");
      return (
        resources.length === RESOURCES &&
        resources.every((one) => condition(one, "Ready")?.status === "True")
      );
    },
    60_000,
  );
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

/** Returns the number of events that the operator has written. */
function events(): Promise<number> {
  const { namespace } = world;
  return world.plane.countRequests({
    user: OPERATOR_USER,
    verb: ["create", "patch"],
    namespace,
    resource: "events",
  });
}

/** Returns the number of list responses, complete or 304. */
async function lists(): Promise<number> {
  const counts = ["200", "304"].map((status) =>
    world.vault.metric(
      `vaultsync_vault_requests_total{operation="list_no_dup",status="${status}"}`,
    ),
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

test("each value takes one fetch and each resource two writes; events of the first sync are few", async () => {
  expect(
    await world.vault.metric(
      'vaultsync_vault_requests_total{operation="version_expose",status="200"}',
    ),
  ).toBe(RESOURCES);
  const writes = {
    user: OPERATOR_USER,
    verb: ["create", "update", "patch", "delete"],
    namespace: world.namespace,
  };
  expect(await world.plane.countRequests({ ...writes, resource: "secrets" })).toBe(RESOURCES);
  expect(await world.plane.countRequests({ ...writes, resource: "vaultsecrets" })).toBe(RESOURCES);
  // 25 of the targets and one each second, and one of the connection.
  expect(await events()).toBeLessThan(RESOURCES / 2);
});

test("five intervals without changes cost five list requests and no request to the API server", async () => {
  // Counts from just after one list to just after the fifth list that follows.
  const start = await lists();
  await waitUntil("the next list", async () => (await lists()) > start);
  const first = await lists();
  const mark = await world.plane.auditMark();
  const before = await vaultRequests();
  await waitUntil("five more lists", async () => (await lists()) >= first + INTERVALS, 60_000);
  expect((await vaultRequests()) - before).toBe(INTERVALS);

  const ours = { user: OPERATOR_USER, namespace: world.namespace };
  expect(
    await world.plane.countRequests(
      { ...ours, verb: ["get", "create", "update", "patch", "delete"] },
      { since: mark },
    ),
  ).toBe(0);
  expect(operator.exited).toBe(false);
});

test("the operator opens at most 52 connections to the API server, and keeps fewer", () => {
  // Six streamed lists, six watches, and a pool of at most 40 for 32 writes and 8 reads, of which
  // one connection uses a part.
  expect(proxy.accepted).toBeLessThanOrEqual(6 + 6 + 40);
  // A connection ends with its streamed list; the oldest release streams none.
  const ended = proxy.accepted - proxy.open;
  expect(ended).toBeGreaterThanOrEqual(chosenRelease() === oldest ? 0 : 1);
});

test("a restart reads no target, fetches no value and writes nothing", async () => {
  await operator.stop("SIGKILL");
  const mark = await world.plane.auditMark();
  operator = await world.startOperator();
  const isReconciled = async (): Promise<boolean> => {
    const { body } = await operator.page("/metrics");
    const done = /^vaultsync_reconciles_total\{controller="sync",outcome="done"\} (\d+)$/m.exec(
      body,
    )?.[1];
    return (
      Number(done) >= RESOURCES &&
      body.includes('\nvaultsync_workqueue_depth{controller="sync"} 0\n')
    );
  };
  await waitUntil("all resources are reconciled", isReconciled, 60_000);
  const requests = await world.plane.auditEvents({ since: mark });
  // Resources and their targets have the same names; the names of events begin with them.
  const about = requests.filter(
    ({ user, objectRef }) =>
      user.username === OPERATOR_USER && objectRef?.name?.startsWith("quiet-"),
  );
  expect(
    about.map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.name}`),
  ).toEqual([]);
  expect(
    await world.vault.metric(
      'vaultsync_vault_requests_total{operation="version_expose",status="200"}',
    ),
  ).toBe(RESOURCES);
});

test("no value appears in logs, events, statuses, annotations or metrics", async () => {
  expect(operator.log).toContain("caches synced");
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});

/** Returns the number of responses of the vault, for all operations and statuses. */
async function vaultRequests(): Promise<number> {
  const text = await (await fetch(`${world.vault.metricsUrl}/metrics`)).text();
  const samples = text.matchAll(/^vaultsync_vault_requests_total\{.*\} (\d+)$/gm);
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
}
