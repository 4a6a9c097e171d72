import { expect, test } from "vitest";
import { ReplicaScene } from "../../../test/lab/kube/replica-scene.ts";

test("a standby logs who leads at its start and after a change, and a new leader that it leads", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 1);
  await scene.wait(3_000);
  const [second, third] = [scene.start("b", 1), scene.start("c", 1)];
  await scene.wait(60_000);
  expect(first.leads).toEqual(["leading"]);
  for (const { leads } of [second, third])
    expect(leads).toEqual(["not leading: lease sys/vaultsync is held by a"]);
  await Promise.all([first.stop(), scene.wait(30_000)]);
  const [leader, standby] = scene.counts[1] === 1 ? [second, third] : [third, second];
  expect(leader.leads.slice(1)).toEqual(["leading"]);
  expect(standby.leads.slice(1)).toEqual([
    `not leading: lease sys/vaultsync is held by ${leader.name}`,
  ]);
});

test("a replica without a shard logs who works on them, and at most three of them", async () => {
  const scene = new ReplicaScene();
  scene.start("a", 4);
  await scene.wait(10_000);
  const second = scene.start("b", 4);
  await scene.wait(3_000);
  expect(second.leads[0]).toBe(
    "not leading: lease sys/vaultsync-0-of-4 is held by a, sys/vaultsync-1-of-4 is held by a, sys/vaultsync-2-of-4 is held by a and 1 more",
  );
});

test("a replica without a shard logs three replicas that work without a number of more", async () => {
  const scene = new ReplicaScene();
  scene.start("a", 3);
  await scene.wait(10_000);
  const second = scene.start("b", 3);
  await scene.wait(2_000);
  expect(second.leads[0]).toBe(
    "not leading: lease sys/vaultsync-0-of-3 is held by a, sys/vaultsync-1-of-3 is held by a, sys/vaultsync-2-of-3 is held by a",
  );
});

test("a replica that works on a shard does not log who works on the rest", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 2);
  await scene.wait(10_000);
  scene.start("b", 2);
  await scene.wait(40_000);
  expect(scene.counts).toEqual([1, 1]);
  expect(first.leads).toEqual(["leading", "leading"]);
});

test("the lines about who leads name the replica, and the Lease and shard that it leads", async () => {
  const scene = new ReplicaScene();
  const first = scene.start("a", 2);
  await scene.wait(10_000);
  const second = scene.start("b", 2);
  await scene.wait(2_000);
  const fieldsOf = ({ lines }: typeof first, message: string): unknown[] =>
    lines.filter((line) => line.message.startsWith(message)).map(({ fields }) => fields);
  expect(fieldsOf(first, "leading")).toEqual([
    { lease: "vaultsync-0-of-2", identity: "a", shard: 0 },
    { lease: "vaultsync-1-of-2", identity: "a", shard: 1 },
  ]);
  expect(fieldsOf(second, "not leading")).toEqual([{ identity: "b" }]);
});

test("a standby logs the holder of a Lease without labels, and 256 characters of its identity", async () => {
  const scene = new ReplicaScene();
  scene.createLease("vaultsync", "x".repeat(10_000));
  const standby = scene.start("a", 1);
  await scene.wait(10_000);
  expect(standby.leads).toEqual([`not leading: lease sys/vaultsync is held by ${"x".repeat(256)}`]);
});
