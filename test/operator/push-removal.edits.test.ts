import { expect, test } from "vitest";
import { type SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";

const deleted = { deletionPolicy: "Delete" };
const toSecret = { secretKey: "password", remoteRef: { key: "db" } };
const toFile = { secretKey: "password", file: { filename: "conf" } };

async function deletePush(scene: SimulatedWorld): Promise<void> {
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
}

test("Delete keeps an entry that was removed from spec.data before, also if it was added again", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ ...deleted, data: [toSecret, toFile] });
  await scene.settle();
  scene.pushes.put({ ...deleted, data: [toFile] });
  await scene.settle();
  scene.pushes.put({ ...deleted, data: [toSecret, toFile] });
  await scene.settle();
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.versions("conf", "file")).toEqual([]);
});

test.each(["one", "two"])(
  "Delete removes an entry that is pushed from another key with %s since",
  async (value) => {
    await using scene = await withPushSource();
    scene.pushes.put(deleted);
    await scene.settle();
    scene.pushes.source({ pass: value });
    scene.pushes.put({ ...deleted, data: [{ ...toSecret, secretKey: "pass" }] });
    await scene.settle();
    expect(scene.pushes.status().items).toMatchObject([{ secretKey: "pass", created: true }]);
    await deletePush(scene);
    expect(scene.pushes.versions()).toEqual([]);
  },
);

test("Delete removes an entry whose key was renamed to one that the Secret lacks", async () => {
  await using scene = await withPushSource();
  scene.pushes.put(deleted);
  await scene.settle();
  scene.pushes.put({ ...deleted, data: [{ ...toSecret, secretKey: "pass" }] });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("SourceMissing");
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual([]);
});
