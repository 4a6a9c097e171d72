import { expect, test } from "vitest";
import { FollowedScene, keysOf } from "./support/followed-scene.ts";

const MINUTE = 60_000;

const start = async (
  specs: Readonly<Record<string, object>>,
  fill: (scene: FollowedScene) => void,
): Promise<FollowedScene> => {
  const scene = new FollowedScene();
  fill(scene);
  await scene.follow(specs);
  return scene;
};

test("targets follow new versions, and an unchanged vault changes nothing", async () => {
  const scene = await start({ db: keysOf("a", "b") }, (one) => {
    one.store("a", "a1");
    one.store("b", "b1");
  });
  const first = { targets: { db: { a: "a1", b: "b1" } }, problems: [] };
  expect(await scene.next()).toEqual(first);
  const { written } = scene;
  expect(await scene.next()).toEqual(first);
  expect(scene.written).toEqual(written);
  scene.store("b", "b2");
  expect(await scene.next()).toEqual({ targets: { db: { a: "a1", b: "b2" } }, problems: [] });
});

test("a missing source keeps its key, and other keys and targets follow the vault", async () => {
  const scene = await start({ db: keysOf("a", "b"), other: keysOf("c") }, (one) => {
    for (const name of ["a", "b", "c"]) one.store(name, `${name}1`);
  });
  await scene.next();
  scene.delete("a");
  scene.store("b", "b2");
  scene.store("c", "c2");
  const { targets, problems } = await scene.next();
  expect(targets).toEqual({ db: { a: "a1", b: "b2" }, other: { c: "c2" } });
  expect(problems).toEqual([expect.stringContaining("a is not in the list")]);
});

test("a key leaves its target at the delete_time of its source, the last one with its target", async () => {
  const scene = await start({ db: keysOf("a", "b"), guest: keysOf("a") }, (one) => {
    one.store("a", "a1", { delete_time: 2 });
    one.store("b", "b1");
  });
  await scene.next();
  await scene.clock.advance(MINUTE);
  expect((await scene.next()).targets).toEqual({ db: { a: "a1", b: "b1" }, guest: { a: "a1" } });
  await scene.clock.advance(2 * MINUTE);
  expect((await scene.next()).targets).toEqual({ db: { b: "b1" } });
  scene.store("a", "a2");
  expect((await scene.next()).targets).toEqual({ db: { a: "a2", b: "b1" }, guest: { a: "a2" } });
});

test("a source that was deleted before its delete_time keeps its key permanently", async () => {
  const scene = await start({ guest: keysOf("a") }, (one) => {
    one.store("a", "a1", { delete_time: 5 });
  });
  await scene.next();
  await scene.clock.advance(MINUTE);
  scene.delete("a");
  await scene.next();
  for (let list = 0; list < 3; list++) {
    await scene.clock.advance(10 * MINUTE);
    expect((await scene.next()).targets).toEqual({ guest: { a: "a1" } });
  }
});

test("a deleted source keeps its key also with whenMissing: Delete", async () => {
  const spec = { ...keysOf("a"), target: { whenMissing: "Delete" } };
  const scene = await start({ db: spec }, (one) => one.store("a", "a1"));
  await scene.next();
  scene.delete("a");
  for (let list = 0; list < 3; list++) {
    await scene.clock.advance(60 * MINUTE);
    expect((await scene.next()).targets).toEqual({ db: { a: "a1" } });
  }
});

test("whenRemoved: Retain keeps a key after the delete_time of its source", async () => {
  const spec = { ...keysOf("a", "b"), target: { whenRemoved: "Retain" } };
  const scene = await start({ db: spec }, (one) => {
    one.store("a", "a1", { delete_time: 2 });
    one.store("b", "b1");
  });
  await scene.next();
  await scene.clock.advance(3 * MINUTE);
  scene.store("b", "b2");
  expect((await scene.next()).targets).toEqual({ db: { a: "a1", b: "b2" } });
});

test("a removed source leaves its target although another one is missing", async () => {
  const template = { data: { url: "{{ a }}:{{ b }}" } };
  const specs = { db: keysOf("a", "b"), url: { ...keysOf("a", "b"), target: { template } } };
  const scene = await start(specs, (one) => {
    one.store("a", "a1", { delete_time: 2 });
    one.store("b", "b1");
  });
  expect((await scene.next()).targets).toMatchObject({ url: { url: "a1:b1" } });
  await scene.clock.advance(3 * MINUTE);
  scene.delete("b");
  expect((await scene.next()).targets).toEqual({ db: { b: "b1" } });
});

test("an entry that was deleted and recreated is another one, whatever its version", async () => {
  const scene = await start({ db: keysOf("a") }, (one) => one.store("a", "old"));
  await scene.next();
  await scene.clock.advance(MINUTE);
  scene.delete("a");
  scene.store("a", "new");
  expect((await scene.next()).targets).toEqual({ db: { a: "new" } });
});

test("a restored vault with an earlier version keeps what the target has", async () => {
  const scene = await start({ db: keysOf("a") }, (one) => one.store("a", "a1"));
  const backup = scene.vault.backup();
  scene.store("a", "a2");
  await scene.next();
  scene.vault.restore(backup);
  const { targets, problems } = await scene.next();
  expect(targets).toEqual({ db: { a: "a2" } });
  expect(problems).toEqual([expect.stringContaining("version")]);
});

test("a version that does not fit the rules of its key leaves the earlier one", async () => {
  const data = [{ secretKey: "a", remoteRef: { key: "a" }, validate: { minLength: 4 } }];
  const scene = await start({ db: { data } }, (one) => one.store("a", "long"));
  await scene.next();
  scene.store("a", "no");
  const { targets, problems } = await scene.next();
  expect(targets).toEqual({ db: { a: "long" } });
  expect(problems).toEqual([expect.stringContaining("does not fit the rule minLength")]);
  scene.store("a", "longer");
  expect(await scene.next()).toEqual({ targets: { db: { a: "longer" } }, problems: [] });
});

test("an empty new version leaves the earlier one", async () => {
  const scene = await start({ db: keysOf("a") }, (one) => one.store("a", "a1"));
  await scene.next();
  scene.store("a", "");
  expect((await scene.next()).targets).toEqual({ db: { a: "a1" } });
});

test("a suspended resource keeps its target", async () => {
  const scene = await start({ db: keysOf("a") }, (one) => one.store("a", "a1"));
  await scene.next();
  const { written } = scene;
  await scene.follow({ db: { ...keysOf("a"), suspend: true } });
  scene.store("a", "a2");
  scene.written = written;
  expect((await scene.next()).targets).toEqual({ db: { a: "a1" } });
});

test("a name that a rule found keeps its key while the list lacks it", async () => {
  const dataFrom = [{ find: { name: { regexp: "^env-" } } }];
  const scene = await start({ env: { dataFrom } }, (one) => {
    one.store("env-a", "a1");
    one.store("env-b", "b1");
  });
  await scene.next();
  scene.delete("env-a");
  scene.store("env-c", "c1");
  expect((await scene.next()).targets).toEqual({
    env: { "env-a": "a1", "env-b": "b1", "env-c": "c1" },
  });
});
