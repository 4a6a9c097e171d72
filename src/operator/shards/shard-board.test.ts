import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import type { KubeObject } from "../kube/resource.ts";
import { LEASE_LABEL } from "../kube/leader-election/lease-record.ts";
import { ShardBoard, SHARDS_LABEL } from "./shard-board.ts";

function lease(name: string, holder: string, labels: Record<string, string>): KubeObject {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "sys", name, resourceVersion: "1", labels },
    spec: { holderIdentity: holder, leaseDurationSeconds: 15 },
  };
}

const ofShard = (shard: number, holder: string): KubeObject =>
  lease(`vaultsync-${shard}-of-3`, holder, { [LEASE_LABEL]: "shard", [SHARDS_LABEL]: "3" });
const ofReplica = (holder: string): KubeObject =>
  lease(`vaultsync-replica-${holder}`, holder, { [LEASE_LABEL]: "replica", [SHARDS_LABEL]: "3" });

test("the holders are other replicas with a shard, in the order of the names of the Leases", () => {
  const board = new ShardBoard(new VirtualClock());
  const leases = [ofShard(1, "c"), ofShard(2, "a"), ofShard(0, "b"), ofReplica("b")];
  board.update([...leases, lease("vaultsync-9-of-9", "", {})]);
  expect(board.holders("a")).toEqual([
    ["vaultsync-0-of-3", "b"],
    ["vaultsync-1-of-3", "c"],
  ]);
});

test("the Lease of a replica is abandoned when no renewal was seen for ten minutes", async () => {
  const clock = new VirtualClock();
  const board = new ShardBoard(clock);
  const [replica, shard] = [ofReplica("a"), ofShard(0, "a")];
  board.update([replica, shard]);
  await clock.advance(599_999);
  board.update([replica, shard]);
  expect(board.abandoned).toEqual([]);
  await clock.advance(1);
  expect(board.abandoned).toEqual([replica]);
  const { metadata } = replica;
  board.update([{ ...replica, metadata: { ...metadata, resourceVersion: "2" } }, shard]);
  expect(board.abandoned).toEqual([]);
});
