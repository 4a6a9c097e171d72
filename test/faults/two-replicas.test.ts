import { expect, test } from "vitest";
import type { Operation } from "../../src/protocol/operation-paths.ts";
import { OperatorProcess } from "../lab/real/processes/operator-process.ts";
import { Lanes, createReplicaAccount } from "./support/lanes.ts";
import * as faults from "./support/faults.ts";

/**
 * Two replicas of one Lease. Each has a separate ServiceAccount: the audit log distinguishes them.
 */
const READS: readonly Operation[] = ["expose", "version_expose"];
const WRITES = ["create", "update", "patch", "delete"];

/** Starts a replica and waits until it only lacks the Lease. */
async function standBy(
  { plane, namespace }: Lanes,
  serviceAccount: string,
): Promise<OperatorProcess> {
  const kubeconfig = await plane.kubeconfigFor({ serviceAccount, namespace });
  const operator = OperatorProcess.launch(kubeconfig, [
    "--namespaces",
    namespace,
    "--namespace",
    namespace,
  ]);
  await operator.waitForOutput(({ stderr }) => stderr.includes("caches synced") || undefined);
  return operator;
}

/** Returns the writes of a replica since `since`, each as `<verb> <resource> <status>`. */
async function writesOf(
  { plane, namespace }: Lanes,
  replica: string,
  since: number,
): Promise<string[]> {
  const events = await plane.auditEvents({ since });
  const user = `system:serviceaccount:${namespace}:${replica}`;
  return events
    .filter((event) => event.user.username === user && WRITES.includes(event.verb))
    .map(
      ({ verb, objectRef, responseStatus }) =>
        `${verb} ${objectRef?.resource} ${responseStatus?.code}`,
    );
}

test("O2: a leader stopped beyond its Lease, or without its Lease, ends and writes nothing", async () => {
  await using world = await Lanes.create({ accounts: 1, account: { serviceAccount: "first" } });
  for (const name of ["first", "second", "third"]) await createReplicaAccount(world, name);
  const first = await world.startOperator(["--namespace", world.namespace]);
  await using lane = await world.lane("o2-stopped");
  await using second = await standBy(world, "second");
  await second.waitForOutput(
    ({ stderr }) =>
      stderr.includes(`not leading: lease ${world.namespace}/vaultsync is held by`) || undefined,
  );
  let reads = 0;
  lane.proxy.inject(
    faults.on(READS, ({ relay }) => {
      reads += 1;
      // The value arrives in the socket of the stopped process.
      if (reads === 1) first.signal("SIGSTOP");
      return relay();
    }),
  );
  await lane.protect();
  await lane.inSync();
  await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual(lane.values);
  expect(await writesOf(world, "second", 0)).toContain("patch secrets 200");

  const resumed = await world.plane.auditMark();
  first.signal("SIGCONT");
  expect((await first.result).code).toBe(1);
  expect(first.log).toContain("lost lease");
  expect(await writesOf(world, "first", resumed)).toEqual([]);
  expect(second.exited).toBe(false);

  await using third = await standBy(world, "third");
  await world.plane.kubectl(["delete", "leases", "--all"], { namespace: world.namespace });
  expect((await second.result).code).toBe(1);
  const ended = await world.plane.auditMark();
  await lane.protect();
  await lane.inSync();
  expect(lane.written).toEqual(lane.values);
  expect(await writesOf(world, "second", ended)).toEqual([]);
  expect(await writesOf(world, "third", ended)).toContain("patch secrets 200");
  expect(third.exited).toBe(false);
});
