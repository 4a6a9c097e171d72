import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { pump } from "../../../../test/lab/clock/pump.ts";
import { ApiClient } from "../../../../test/lab/simulated/api-server/api-client.ts";
import { InMemoryApiServer } from "../../../../test/lab/simulated/api-server/in-memory-api-server.ts";
import { ALL_NAMESPACES, LEASES, NAMESPACES } from "../../kube/resource.ts";
import { runningOperator } from "./release.ts";

const signal = new AbortController().signal;

/** Returns what is found while a holder renews its Lease every two seconds. */
async function foundNextTo(namespace: string, name: string, labels: Record<string, string>) {
  const clock = new VirtualClock();
  const server = new InMemoryApiServer({ clock });
  const spec = { holderIdentity: "holder", leaseDurationSeconds: 15 };
  server.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const metadata = { namespace, name, labels };
  server.create(LEASES, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  const ended = new AbortController();
  const renew = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(2_000, ended.signal);
      const renewTime = new Date(clock.now()).toISOString();
      server.patch(LEASES, { namespace, name }, { spec: { renewTime } });
    }
  };
  const renewed = renew().catch(() => undefined);
  const operator = { namespace: ALL_NAMESPACES, clock };
  const found = await pump(clock, runningOperator(new ApiClient(server), operator, signal));
  ended.abort();
  await renewed;
  return found;
}

test.each([
  ["vaultsync", {}],
  ["vaultsync-1-of-3", {}],
  ["vaultsync-replica-7", { "vaultsync.dev/lease": "replica" }],
])("the holder of the Lease %s is an operator", async (name, labels) => {
  expect(await foundNextTo("vaultsync-system", name, labels)).toEqual({
    lease: `vaultsync-system/${name}`,
    holder: "holder",
  });
});

// Found on a node of this name: nothing could be released.
test.each(["vaultsync-node", "vaultsync-1"])("the node %s is no operator", async (name) => {
  expect(await foundNextTo("kube-node-lease", name, {})).toBeUndefined();
});
