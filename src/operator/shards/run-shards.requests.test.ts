import { expect, test } from "vitest";
import { ReplicaScene } from "../../../test/lab/kube/replica-scene.ts";

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
