import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../../test/lab/kube/sync-resource.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { KubeObject, ObjectRef } from "../../kube/resource.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { TargetKind } from "../../sync/sync-resource.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { targetMetadata } from "./target-metadata.ts";
import { WATCH_LAG_MS } from "../outcome/own-writes.ts";
import { TargetRecords } from "./target-records.ts";

const resource = syncResource([syncItem("a")]);
const KEY = "shop/db";

function object(resourceVersion: string, uid = "u1"): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "db", namespace: "shop", uid, resourceVersion },
  };
}

function setUp() {
  const stores = {
    Secret: new ObjectStore<TargetMetadata>(),
    ConfigMap: new ObjectStore<TargetMetadata>(),
  };
  const clock = new VirtualClock();
  const unseen: string[] = [];
  const watched = { Secret: { store: stores.Secret }, ConfigMap: { store: stores.ConfigMap } };
  const records = new TargetRecords({
    watched,
    clock,
    requeue: (key) => void unseen.push(key),
  });
  /** Passes a state to the watch and reports whether it is an external change. */
  const shows = (state: KubeObject): boolean => {
    const value = targetMetadata(state);
    const { uid, resourceVersion } = value;
    return stores.Secret.set(KEY, { uid, resourceVersion, value })
      .map((change) => records.observe(`Secret/${KEY}`, change))
      .includes(true);
  };
  const showsGone = (uid: string): boolean =>
    stores.Secret.delete(KEY, uid)
      .map((change) => records.observe(`Secret/${KEY}`, change))
      .includes(true);
  const versionSeen = (): string | undefined => records.metadata(resource)?.resourceVersion;
  return { clock, unseen, stores, records, shows, showsGone, versionSeen };
}

describe("TargetRecords during a write", () => {
  test("a write that the watch shows before its response is no change", async () => {
    const { clock, records, shows, unseen, versionSeen } = setUp();
    using write = records.beginWrite(resource);
    expect(shows(object("10"))).toBe(false);
    records.recordWrite(resource, object("10"), new Map(), false);
    write[Symbol.dispose]();
    expect(unseen).toEqual([]);
    expect(versionSeen()).toBe("10");
    await clock.advance(WATCH_LAG_MS);
    expect(unseen).toEqual([]);
    expect(shows(object("11"))).toBe(true);
  });

  test.each<[string, string[], string | undefined]>([
    ["another writer changed the object after the write", ["10", "11"], "10"],
    ["another writer changed the object before the write", ["9"], "10"],
    ["the write failed", ["9"], undefined],
  ])("the target is requeued after it when %s", (_, shown, written) => {
    const { records, shows, unseen } = setUp();
    {
      using _write = records.beginWrite(resource);
      for (const version of shown) expect(shows(object(version))).toBe(false);
      if (written !== undefined) records.recordWrite(resource, object(written), new Map(), false);
      expect(unseen).toEqual([]);
    }
    expect(unseen).toEqual(["Secret/shop/db"]);
  });

  test("a write that admission changed is requeued, and a deletion is no part of it", () => {
    const { records, shows, showsGone, unseen } = setUp();
    {
      using _write = records.beginWrite(resource);
      shows(object("10"));
      records.recordWrite(resource, object("10"), undefined, false);
    }
    expect(unseen).toEqual(["Secret/shop/db"]);
    using _write = records.beginWrite(resource);
    expect(showsGone("u1")).toBe(true);
  });
});

describe("TargetRecords after a write", () => {
  test("returns the written state immediately and ignores its echo in the watch", () => {
    const { records, shows, versionSeen } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    expect(versionSeen()).toBe("10");
    expect(shows(object("10"))).toBe(false);
    expect(versionSeen()).toBe("10");
  });

  test("ignores an older state that the watch shows later", () => {
    const { records, shows, versionSeen } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    expect(shows(object("8"))).toBe(false);
    expect(versionSeen()).toBe("10");
  });

  test("reports a newer state as an external change", () => {
    const { records, shows, versionSeen } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    shows(object("10"));
    expect(shows(object("11"))).toBe(true);
    expect(versionSeen()).toBe("11");
  });

  test("treats the written state as verified for a resource of the same type", () => {
    const { records } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    expect(records.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(true);
    expect(records.isVerified(resource, { uid: "u1", resourceVersion: "11" })).toBe(false);
    const tls = syncResource([], {
      target: { kind: "Secret", name: "db", type: "kubernetes.io/tls" },
    });
    expect(records.isVerified(tls, { uid: "u1", resourceVersion: "10" })).toBe(false);
    const map = syncResource([], { target: { kind: "ConfigMap", name: "db", type: "Opaque" } });
    expect(records.isVerified(map, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });
});

describe("TargetRecords after a deletion", () => {
  test("returns no target while the watch still shows it", () => {
    const { records, shows, versionSeen } = setUp();
    shows(object("10"));
    records.recordDelete(resource, "u1");
    expect(versionSeen()).toBeUndefined();
    expect(records.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });

  test("drops the verified state", () => {
    const { records } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    records.recordDelete(resource, "u1");
    expect(records.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });

  test("reports an external deletion before the watch showed the own write", () => {
    const { records, shows, showsGone, versionSeen } = setUp();
    shows(object("9"));
    records.recordWrite(resource, object("10"), new Map(), false);
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBeUndefined();
  });

  test("reports a recreated object as an external change", () => {
    const { records, shows, versionSeen } = setUp();
    shows(object("10"));
    records.recordDelete(resource, "u1");
    expect(shows(object("12", "u2"))).toBe(true);
    expect(versionSeen()).toBe("12");
  });

  test("reports an external deletion of a target that nothing is known about", () => {
    const { shows, showsGone, versionSeen } = setUp();
    shows(object("9"));
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBeUndefined();
  });

  test("keeps the newer object of the same name when the watch shows that the former one is gone", () => {
    const { records, shows, showsGone, versionSeen } = setUp();
    shows(object("9"));
    records.recordWrite(resource, object("12", "u2"), new Map(), false);
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBe("12");
    expect(records.isVerified(resource, { uid: "u2", resourceVersion: "12" })).toBe(true);
  });

  test("counts creating a target again that others deleted as a repair, once", () => {
    const { records, shows, showsGone } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    shows(object("10"));
    showsGone("u1");
    expect(records.recordWrite(resource, object("12", "u2"), new Map(), false)).toMatchObject({
      count: 1,
    });
    expect(records.recordWrite(resource, object("13", "u2"), new Map(), false)).toMatchObject({
      count: 1,
    });
    shows(object("13", "u2"));
    records.recordDelete(resource, "u2");
    showsGone("u2");
    expect(records.recordWrite(resource, object("15", "u3"), new Map(), false)).toBeUndefined();
  });

  test("reports an external deletion and drops all state", () => {
    const { records, shows, showsGone, versionSeen } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    shows(object("10"));
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBeUndefined();
    expect(records.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });
});

test("targetMetadata keeps no value and no foreign label or annotation", () => {
  const canary = "canary-target-records-51ce";
  const metadata = {
    name: "db",
    namespace: "shop",
    labels: { "app.kubernetes.io/managed-by": "vaultsync", team: canary },
    annotations: {
      "vaultsync.dev/owner": "VaultSecret/db",
      "kubectl.kubernetes.io/last-applied-configuration": canary,
    },
    managedFields: [canary],
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: canary, uid: "u" }],
    deletionTimestamp: "2026-11-21T00:00:00Z",
  };
  const kept = targetMetadata({ apiVersion: "v1", kind: "Secret", metadata, data: { a: canary } });
  expect(JSON.stringify(kept)).not.toContain(canary);
  expect(kept).toMatchObject({ owners: [{ uid: "u", controller: false }], deleting: true });
});

test("TargetRecords verifies a state of one target, by uid and resourceVersion", () => {
  const { records } = setUp();
  records.markVerified(resource, object("5").metadata);
  records.markVerified(resource, object("6").metadata);
  const isVerified = (uid: string, resourceVersion: string, of = resource) =>
    records.isVerified(of, { uid, resourceVersion });
  expect(isVerified("u1", "6")).toBe(true);
  expect(isVerified("u1", "5")).toBe(false);
  expect(isVerified("u2", "6")).toBe(false);
  expect(isVerified("u1", "6", syncResource([], { namespace: "team" }))).toBe(false);
});

test("TargetRecords keeps nothing about a target that it deleted or that is no longer named", () => {
  const { records, showsGone, shows } = setUp();
  records.recordWrite(resource, object("10"), new Map(), false);
  records.forget("Secret/shop/db");
  expect(records.size).toBe(0);
  shows(object("10"));
  records.recordWrite(resource, object("11"), new Map(), false);
  records.recordDelete(resource, "u1");
  expect(showsGone("u1")).toBe(false);
  expect(records.size).toBe(0);
});

describe("TargetRecords for a write that the watch does not show", () => {
  test("reports it once after the lag limit", async () => {
    const { clock, unseen, records } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    await clock.advance(WATCH_LAG_MS - 1);
    expect(unseen).toEqual([]);
    await clock.advance(10 * WATCH_LAG_MS);
    expect(unseen).toEqual(["Secret/shop/db"]);
  });

  test("reports nothing if the watch shows it in time", async () => {
    const { clock, unseen, records, shows } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    shows(object("10"));
    await clock.advance(10 * WATCH_LAG_MS);
    expect(unseen).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  test("reports the written state that the watch shows later, as another one was seen meanwhile", async () => {
    const { clock, records, shows, versionSeen } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    await clock.advance(WATCH_LAG_MS);
    expect(versionSeen()).toBeUndefined();
    expect(shows(object("10"))).toBe(true);
  });

  test("waits for the last of several writes", async () => {
    const { clock, unseen, records, shows } = setUp();
    records.recordWrite(resource, object("10"), new Map(), false);
    await clock.advance(WATCH_LAG_MS / 2);
    records.recordWrite(resource, object("11"), new Map(), false);
    await clock.advance(WATCH_LAG_MS - 1);
    expect(unseen).toEqual([]);
    shows(object("10"));
    await clock.advance(1);
    expect(unseen).toEqual(["Secret/shop/db"]);
  });
});

/** Returns the records of targets of which these kinds are read, and the calls of these. */
function unwatched(...kinds: readonly TargetKind[]): { records: TargetRecords; calls: string[] } {
  const calls: string[] = [];
  const view = (kind: TargetKind) => ({
    store: new ObjectStore<TargetMetadata>(),
    ...(kinds.includes(kind) && {
      read: ({ name }: ObjectRef) => Promise.resolve(void calls.push(`${kind} ${name}`)),
      forget: ({ name }: ObjectRef) => void calls.push(`forget ${kind} ${name}`),
    }),
  });
  const watched = { Secret: view("Secret"), ConfigMap: view("ConfigMap") };
  return {
    records: new TargetRecords({ watched, clock: new VirtualClock(), requeue: () => undefined }),
    calls,
  };
}

test.each([
  ["and no former one", undefined, ["Secret db"]],
  ["that was the last one, too", { kind: "Secret", name: "db" }, ["Secret db"]],
  ["and one of another name", { kind: "Secret", name: "old" }, ["Secret db", "Secret old"]],
  ["and one of another kind", { kind: "ConfigMap", name: "db" }, ["Secret db", "ConfigMap db"]],
  ["and one of a kind that is not a target", { kind: "Pod", name: "db" }, ["Secret db"]],
])(
  "without a watch a target is read %s, until its resource is deleted",
  async (_, former, expected) => {
    const { records, calls } = unwatched("Secret", "ConfigMap");
    await records.readUnwatched(resource, former, new AbortController().signal);
    expect(calls.splice(0)).toEqual(expected);
    records.stopReading(resource);
    expect(calls).toEqual(["forget Secret db"]);
  },
);

test("only targets of a kind that no watch shows are read", async () => {
  const former = { kind: "ConfigMap", name: "old" };
  const { records, calls } = unwatched("ConfigMap");
  await records.readUnwatched(resource, former, new AbortController().signal);
  records.stopReading(resource);
  expect(calls).toEqual(["ConfigMap old"]);
});

test("an object that no watch shows is known as of its last look-up", () => {
  const { records, versionSeen } = setUp();
  const merging = syncResource([syncItem("a")], {
    policy: { ...resource.policy, creationPolicy: "Merge" },
  });
  for (const each of [resource, merging]) records.recordLookUp(each, targetMetadata(object("10")));
  expect(records.metadata(merging)).toBeUndefined();
  expect(records.lastMetadata(merging)?.resourceVersion).toBe("10");
  expect([versionSeen(), records.lastMetadata(resource)]).toEqual([undefined, undefined]);
  records.recordAbsence(merging);
  expect(records.lastMetadata(merging)).toBeUndefined();
});
