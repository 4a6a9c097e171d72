import { describe, expect, test } from "vitest";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { InMemoryKubeApi } from "../../../../test/lab/kube/in-memory-kube-api.ts";
import { vaultConnectionKind } from "../../api/kinds.ts";
import { KubeError, type KubeErrorKind } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { StatusWriter } from "./status-writer.ts";

const KEY = "shop/vault";
const signal = new AbortController().signal;

/** The VaultConnection `shop/vault` as the watch shows it, and the writes that its writer sends. */
function scene(status?: object) {
  const api = new InMemoryKubeApi();
  const put = (uid = "uid-1", now = status): KubeObject =>
    api.put("vaultconnections", {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultConnection",
      metadata: { name: "vault", namespace: "shop", uid },
      ...(now && { status: now }),
    });
  const writes: [object, object][] = [];
  const replaceStatus = api.replaceStatus.bind(api);
  api.replaceStatus = (resource, ref, next) => {
    writes.push([ref, next]);
    return replaceStatus(resource, ref, next);
  };
  const clock = new VirtualClock();
  const writer = new StatusWriter(api, vaultConnectionKind, clock);
  const write = (object: KubeObject, next: object): Promise<void> =>
    writer.write(KEY, object, next, signal);
  return { api, clock, put, writes, writer, write };
}

test("a status is written with the identity and version of its object, and only if it changed", async () => {
  const { put, writes, write } = scene({ users: 1 });
  const watched = put();
  await write(watched, { users: 1 });
  expect(writes).toEqual([]);
  await write(watched, { users: 2 });
  const ref = {
    namespace: "shop",
    name: "vault",
    uid: "uid-1",
    resourceVersion: watched.metadata.resourceVersion,
  };
  expect(writes).toEqual([[ref, { users: 2 }]]);
});

test("an empty status is not written to an object without one", async () => {
  const { put, writes, write } = scene();
  await write(put(), {});
  expect(writes).toEqual([]);
});

test("a second write before the watch shows the first is based on the first", async () => {
  const { put, writes, writer, write } = scene();
  const watched = put();
  await write(watched, { users: 1 });
  expect(writer.current(KEY, watched)).toEqual({ users: 1 });
  await write(watched, { users: 1 });
  await write(watched, { users: 2 });
  expect(writes.map(([, status]) => status)).toEqual([{ users: 1 }, { users: 2 }]);
});

test("a write to an object does not count for another that was recreated under its name", async () => {
  const { put, writer, write } = scene();
  await write(put(), { users: 1 });
  const recreated = {
    ...put("uid-2", { users: 0 }),
    metadata: { uid: "uid-2", resourceVersion: "1", name: "vault" },
  };
  expect(writer.current(KEY, recreated)).toEqual({ users: 0 });
});

test("a forgotten write does not count", async () => {
  const { put, writer, write } = scene();
  const watched = put();
  await write(watched, { users: 1 });
  writer.forget(KEY);
  expect(writer.current(KEY, watched)).toBeUndefined();
});

/** The VaultConnection as the watch shows it. */
const shown = (resourceVersion: string, status?: object, uid = "uid-1"): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultConnection",
  metadata: { name: "vault", namespace: "shop", uid, resourceVersion },
  status,
});

describe("a status that the watch shows", () => {
  test("is known while the own write is in flight, and remembered for 20 s", async () => {
    const { api, clock, put, writer, write } = scene();
    const watched = put();
    const sent = Promise.withResolvers<KubeObject>();
    api.replaceStatus = () => sent.promise;
    const written = write(watched, { users: 1 });
    const now = shown("7", { users: 1 });
    expect(writer.repairDelay(KEY, watched, now)).toBeUndefined();
    expect(writer.repairDelay(KEY, watched, shown("7", { users: 2 }))).toBe(0);
    sent.resolve(now);
    await written;
    await clock.advance(19_999);
    expect(writer.repairDelay(KEY, watched, now)).toBeUndefined();
    await clock.advance(1);
    expect(writer.repairDelay(KEY, watched, now)).toBe(0);
  });

  test("is known if it precedes the own write, and unknown if it follows", async () => {
    const { api, put, writer, write } = scene();
    const watched = put();
    api.replaceStatus = () => Promise.resolve(shown("10", { users: 2 }));
    await write(watched, { users: 2 });
    expect(writer.repairDelay(KEY, watched, shown("9", { users: 1 }))).toBeUndefined();
    expect(writer.repairDelay(KEY, watched, shown("11", { users: 3 }))).toBe(0);
    expect(writer.repairDelay(KEY, watched, shown("9", { users: 1 }, "uid-2"))).toBe(0);
  });

  test("is unknown after a write that failed, and never if it did not change", async () => {
    const { api, put, writer, write } = scene({ users: 0 });
    const watched = put();
    api.replaceStatus = () =>
      Promise.reject(new KubeError({ kind: "Unavailable", operation: "update status" }));
    await failureOf(write(watched, { users: 1 }));
    expect(writer.repairDelay(KEY, watched, shown("7", { users: 1 }))).toBe(0);
    expect(writer.repairDelay(KEY, watched, shown("7", { users: 0 }))).toBeUndefined();
  });
});

test("a status that another program keeps changing is repaired after growing delays", async () => {
  const { clock, put, write, writer } = scene();
  const delays: number[] = [];
  for (let before = put("uid-1", { users: 1 }), n = 0; n < 9; n += 1) {
    const changed = put("uid-1", { users: 2 });
    const delay = writer.repairDelay(KEY, before, changed) ?? -1;
    delays.push(delay / 1_000);
    await clock.advance(delay);
    await write(changed, { users: 1 });
    before = put("uid-1", { users: 1 });
  }
  expect(delays).toEqual([0, 0, 5, 10, 20, 40, 80, 160, 300]);
});

test("a changed status that needs no write does not count as repaired", async () => {
  const { put, write, writer } = scene();
  for (let users = 0; users < 5; users += 1) {
    const changed = put("uid-1", { users: users + 1 });
    expect(writer.repairDelay(KEY, shown("1", { users }), changed)).toBe(0);
    await write(changed, { users: users + 1 });
    await write(changed, { users: users + 2 });
  }
});

test.each<[KubeErrorKind, boolean]>([
  ["NotFound", false],
  ["NotLeader", true],
  ["Conflict", true],
  ["Unavailable", true],
])("a write that fails with %s is reported: %j", async (kind, reported) => {
  const { api, put, writer, write } = scene();
  const watched = put();
  const error = new KubeError({ kind, operation: "update status" });
  api.replaceStatus = () => Promise.reject(error);
  const outcome = reported
    ? await failureOf(write(watched, { users: 1 }))
    : await write(watched, { users: 1 });
  expect(outcome).toBe(reported ? error : undefined);
  expect(writer.current(KEY, watched)).toBeUndefined();
});

describe("a state of the object that two conflicts showed to be outdated", () => {
  test("is outdated with all earlier ones, until 20 s have passed", async () => {
    const { api, clock, writer, write } = scene();
    api.replaceStatus = () =>
      Promise.reject(new KubeError({ kind: "Conflict", operation: "update status" }));
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
    await failureOf(write(shown("7"), { users: 1 }));
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
    await failureOf(write(shown("7"), { users: 1 }));
    expect(writer.isOutdated(KEY, shown("6"))).toBe(true);
    expect(writer.isOutdated(KEY, shown("7"))).toBe(true);
    await clock.advance(20_000);
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
  });

  test.each([
    { what: "a newer state", now: shown("8") },
    { what: "a recreated object", now: shown("7", undefined, "uid-2") },
  ])("is forgotten when the watch shows $what", async ({ now }) => {
    const { api, writer, write } = scene();
    api.replaceStatus = () =>
      Promise.reject(new KubeError({ kind: "Conflict", operation: "update status" }));
    await failureOf(write(shown("7"), { users: 1 }));
    await failureOf(write(shown("7"), { users: 1 }));
    expect(writer.isOutdated(KEY, now)).toBe(false);
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
  });

  test("is not outdated after another failure, or once the object is forgotten", async () => {
    const { api, writer, write } = scene();
    api.replaceStatus = () =>
      Promise.reject(new KubeError({ kind: "Unavailable", operation: "update status" }));
    await failureOf(write(shown("7"), { users: 1 }));
    await failureOf(write(shown("7"), { users: 1 }));
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
    api.replaceStatus = () =>
      Promise.reject(new KubeError({ kind: "Conflict", operation: "update status" }));
    await failureOf(write(shown("7"), { users: 1 }));
    await failureOf(write(shown("7"), { users: 1 }));
    writer.forget(KEY);
    expect(writer.isOutdated(KEY, shown("7"))).toBe(false);
  });
});
