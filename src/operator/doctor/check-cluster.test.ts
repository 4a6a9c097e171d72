import { expect, test } from "vitest";
import type { KubeObject } from "../kube/resource.ts";
import { leaseCheck } from "./check-cluster.ts";

const NOW = Date.parse("2026-12-01T12:00:00Z");

/** Returns a Lease that was renewed some seconds ago. */
const lease = (name: string, holderIdentity: string, ago = 2): KubeObject => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "vaultsync-system", name },
  spec: { holderIdentity, renewTime: new Date(NOW - ago * 1_000).toISOString() },
});

const check = (...leases: readonly KubeObject[]): string => {
  const { result, message } = leaseCheck(leases, "vaultsync-system", NOW);
  return `${result}: ${message}`;
};

test("one Lease without shards needs a holder that renews it", () => {
  expect(check(lease("vaultsync", "pod-1_x"))).toBe(
    "ok: pod-1 leads; it renewed its Lease 2 s ago",
  );
  expect(check(lease("vaultsync", "pod-1_x", 60))).toBe(
    "failed: no operator leads: the Lease vaultsync was renewed 60 s ago for the last time",
  );
  expect(check(lease("vaultsync", ""))).toMatch(/^failed: no operator leads/u);
});

test("Leases of replicas and of other programs are none of an operator that leads", () => {
  expect(check(lease("vaultsync-replica-0123456789abcdef", "pod-1_x"), lease("other", "x"))).toBe(
    "failed: no Lease of an operator in namespace vaultsync-system",
  );
});

test("a shard that no replica has is a failure, whatever other Leases are renewed", () => {
  const replica = lease("vaultsync-replica-0123456789abcdef", "pod-1_x", 0);
  const first = lease("vaultsync-0-of-3", "pod-1_x");
  expect(check(replica, first, lease("vaultsync-1-of-3", "pod-2_y", 90))).toBe(
    "failed: no operator leads 2 of 3 shards: the Lease vaultsync-1-of-3 was renewed 90 s ago for the last time, there is no Lease vaultsync-2-of-3",
  );
});

test("Leases of an earlier number of shards do not count", () => {
  const [one, two] = [lease("vaultsync-0-of-2", "pod-1_x"), lease("vaultsync-1-of-2", "pod-2_y")];
  expect(check(lease("vaultsync", "", 90), lease("vaultsync-2-of-3", "", 90), one, two)).toBe(
    "ok: the 2 shards have a leader (pod-1, pod-2); the last Lease was renewed 2 s ago",
  );
});
