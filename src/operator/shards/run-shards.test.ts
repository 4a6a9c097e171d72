import { expect, test } from "vitest";
import { type Replica, ReplicaScene } from "../../../test/lab/kube/replica-scene.ts";
import { seededRandom } from "../../../test/lab/seeded-random.ts";

test("with one shard, one replica works and another succeeds it immediately after its shutdown", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 1);
  await scene.wait(3_000);
  scene.start("b", 1);
  await scene.wait(30_000);
  expect(scene.counts).toEqual([1, 0]);
  const stopped = first.stop();
  await scene.wait(6_000);
  expect(await stopped).toBe("stopped");
  expect(scene.counts).toEqual([0, 1]);
  expect(scene.holder("vaultsync")).toBe("b");
});

/**
 * Ends the leader at many phases of its renewals and the standby's requests, and returns the
 * longest time until the other leads.
 */
async function longestTakeover(end: (leader: Replica) => unknown): Promise<number> {
  let longest = 0;
  for (let phase = 0; phase < 2_000; phase += 90) {
    const scene = new ReplicaScene();
    const leader = scene.start("a", 1);
    await scene.wait(3_000);
    const standby = scene.start("b", 1);
    await scene.wait(20_000);
    await scene.clock.advance(phase);
    const from = scene.clock.monotonic();
    end(leader);
    await scene.wait(30_000);
    longest = Math.max(longest, standby.workedAt - from);
  }
  return longest;
}

test("a standby leads 600 ms after a Lease is released, and 16 s after a leader is killed", async () => {
  const drainMs = 3_000;
  expect(await longestTakeover((leader) => leader.stop())).toBeLessThanOrEqual(drainMs + 600);
  expect(await longestTakeover((leader) => leader.kill())).toBeLessThanOrEqual(16_000);
});

test("replicas share the shards evenly, and a new one has its share within 40 s", async () => {
  const scene = new ReplicaScene();
  for (const name of ["a", "b"]) scene.start(name, 5);
  await scene.wait(30_000);
  expect(scene.counts).toEqual([3, 2]);
  scene.start("c", 5);
  await scene.wait(40_000);
  expect(scene.counts).toEqual([2, 2, 1]);
  expect(scene.uncovered).toEqual([]);
});

test("the shards of a killed replica are taken over within the duration of its Leases", async () => {
  const scene = new ReplicaScene();
  const [killed] = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(30_000);
  expect(scene.counts).toEqual([1, 1]);
  killed!.kill();
  await scene.wait(19_000);
  expect(scene.counts).toEqual([0, 2]);
  expect(await killed!.ended).toMatch(/lost lease/);
});

test("a replica with another number of shards waits until those of the former number have ended", async () => {
  const scene = new ReplicaScene();
  const former = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(30_000);
  scene.start("c", 3);
  await scene.wait(60_000);
  expect(scene.counts).toEqual([1, 1, 0]);
  expect(scene.leases.filter((name) => name.endsWith("-of-3"))).toEqual([]);
  for (const replica of former) {
    void replica.stop();
    await scene.wait(20_000);
  }
  expect(scene.counts).toEqual([0, 0, 3]);
  expect(scene.uncovered).toEqual([]);
});

test("replicas with different numbers of shards that start together end up with one number", async () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const scene = new ReplicaScene();
    const random = seededRandom(seed);
    const latencyMs = (): number => random() * 400;
    scene.start("a", 2, { latencyMs });
    scene.start("b", 3, { latencyMs });
    await scene.wait(40_000, 200);
    expect(scene.counts.filter((count) => count > 0)).toHaveLength(1);
    expect(scene.uncovered).toEqual([]);
  }
});

test("a Lease of an earlier version, which has no labels, is respected and then taken over", async () => {
  const scene = new ReplicaScene();
  scene.createLease("vaultsync", "old");
  const replica = scene.start("a", 1);
  await scene.wait(14_000);
  expect(scene.counts).toEqual([0]);
  await scene.wait(6_000);
  expect(scene.counts).toEqual([1]);
  expect(replica.writes("team-1/vault")).toBe(true);
});

test("a replica takes no shard again that it released to a slow one", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 4);
  await scene.wait(10_000);
  scene.start("b", 4, { latencyMs: () => 1_500 });
  await scene.wait(60_000);
  expect(scene.counts).toEqual([2, 2]);
  expect(first.leads).toHaveLength(4);
});

test("a replica takes the shards of one that stopped, also those that it released to it", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 2);
  await scene.wait(10_000);
  const second = scene.start("b", 2);
  await scene.wait(40_000);
  expect(scene.counts).toEqual([1, 1]);
  expect(first.ends).toEqual(["shard 1 is handed over"]);
  void second.stop();
  await scene.wait(10_000);
  expect(scene.counts).toEqual([2, 0]);
  expect(scene.uncovered).toEqual([]);
});

test("replicas of one shard have no Lease but its own, and keep it when they stop", async () => {
  const scene = new ReplicaScene();
  const replica = scene.start("a", 1);
  await scene.wait(3_000);
  await Promise.all([replica.stop(), scene.wait(6_000)]);
  expect(scene.leases).toEqual(["vaultsync"]);
  expect(scene.holder("vaultsync")).toBe("");
  expect(replica.requests.filter((request) => request.startsWith("delete"))).toEqual([]);
});

test("a replica of several shards has a Lease with a name of 16 digits until it stops", async () => {
  const scene = new ReplicaScene();
  const replica = scene.start("x".repeat(300), 2);
  await scene.wait(3_000);
  const shards = ["vaultsync-0-of-2", "vaultsync-1-of-2"];
  expect(scene.leases).toEqual([
    ...shards,
    expect.stringMatching(/^vaultsync-replica-[0-9a-f]{16}$/u),
  ]);
  await Promise.all([replica.stop(), scene.wait(6_000)]);
  expect(scene.leases).toEqual(shards);
});

test.each([
  [1, "vaultsync"],
  [2, "vaultsync-1-of-2"],
  [2, "vaultsync-replica-"],
])("of %i shards, a replica ends when a user deletes its Lease %s", async (shards, name) => {
  const scene = new ReplicaScene();
  const replica = scene.start("a", shards);
  await scene.wait(3_000);
  scene.deleteLease(scene.leases.find((lease) => lease.startsWith(name))!);
  await scene.wait(10_000);
  expect(await replica.ended).toBe("lost lease: deleted");
  expect(scene.counts).toEqual([0]);
});

test("a replica does not take a shard again whose Lease a user deleted", async () => {
  const scene = new ReplicaScene();
  scene.createLease("vaultsync-0-of-2", "old");
  const replica = scene.start("a", 2);
  await scene.wait(4_500);
  expect(replica.working.has(1)).toBe(true);
  scene.deleteLease("vaultsync-1-of-2");
  await scene.wait(10_000);
  expect(await replica.ended).toBe("lost lease: deleted");
  expect(replica.leads.filter((line) => line === "leading")).toHaveLength(1);
});

test("a standby leads half a second after a user deletes the Lease of an ended replica", async () => {
  const scene = new ReplicaScene();
  const leader = scene.start("a", 1);
  await scene.wait(3_000);
  const standby = scene.start("b", 1);
  await scene.wait(20_000);
  leader.kill();
  await scene.wait(11_000);
  expect(standby.working.size).toBe(0);
  scene.deleteLease("vaultsync");
  await scene.wait(1_000);
  expect(standby.working.size).toBe(1);
});

test("the Leases of replicas that were killed are deleted later", async () => {
  const scene = new ReplicaScene();
  const [killed] = ["a", "b"].map((name) => scene.start(name, 2));
  await scene.wait(10_000);
  killed!.kill();
  await scene.wait(660_000, 10_000);
  expect(scene.leases.filter((name) => name.startsWith("vaultsync-replica-"))).toHaveLength(1);
});

test("the Leases of shards are kept: another number of shards may be followed by the former", async () => {
  const scene = new ReplicaScene();
  const former = scene.start("a", 2);
  await scene.wait(10_000);
  former.kill();
  scene.start("b", 1);
  await scene.wait(660_000, 10_000);
  expect(scene.leases).toEqual(["vaultsync", "vaultsync-0-of-2", "vaultsync-1-of-2"]);
});

test("the replica that holds the only shard lists the Leases once per minute", async () => {
  const scene = new ReplicaScene();
  let lists = 0;
  scene.server.authorize = ({ verb }) => {
    if (verb === "list") lists += 1;
    return true;
  };
  scene.start("a", 1);
  await scene.wait(3_000);
  expect(scene.counts).toEqual([1]);
  lists = 0;
  await scene.wait(600_000, 5_000);
  expect(lists).toBeGreaterThanOrEqual(8);
  expect(lists).toBeLessThanOrEqual(14);
});

test("a replica that holds some of the shards lists the Leases every 1.5 s", async () => {
  const scene = new ReplicaScene();
  const [replica] = ["a", "b"].map((name) => scene.start(name, 4));
  await scene.wait(20_000);
  expect(scene.counts).toEqual([2, 2]);
  replica!.requests.length = 0;
  await scene.wait(60_000);
  const lists = replica!.requests.filter((request) => request === "list");
  expect(lists.length).toBeGreaterThanOrEqual(38);
  expect(lists.length).toBeLessThanOrEqual(41);
});

test("a standby lists the Leases twice per second, and sends nothing else", async () => {
  const scene = new ReplicaScene();
  scene.start("a", 1);
  await scene.wait(3_000);
  const standby = scene.start("b", 1);
  await scene.wait(60_000);
  expect(new Set(standby.requests)).toEqual(new Set(["list"]));
  expect(standby.requests.length).toBeGreaterThanOrEqual(115);
  expect(standby.requests.length).toBeLessThanOrEqual(121);
});
