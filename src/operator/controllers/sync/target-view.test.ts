import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../../test/support/kube/sync-resource.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { ObjectStore } from "../../kube/cache/object-store.ts";
import type { TargetMetadata } from "../../sync/target.ts";
import { targetMetadata } from "./target-metadata.ts";
import { TargetView, VerifiedStates } from "./target-view.ts";

const resource = syncResource([syncItem("a")]);
const KEY = "shop/db";

function object(resourceVersion: string, uid = "u1"): KubeObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "db", namespace: "shop", uid, resourceVersion } };
}

function setUp() {
  const stores = { Secret: new ObjectStore<TargetMetadata>(), ConfigMap: new ObjectStore<TargetMetadata>() };
  const view = new TargetView(stores, new VirtualClock());
  /** Passes a state to the watch and reports whether it is an external change. */
  const shows = (state: KubeObject): boolean => {
    const value = targetMetadata(state);
    const { uid, resourceVersion } = value;
    return stores.Secret.set(KEY, { uid, resourceVersion, value })
      .map((change) => view.isExternalChange("Secret", change))
      .includes(true);
  };
  const showsGone = (uid: string): boolean =>
    stores.Secret.delete(KEY, uid)
      .map((change) => view.isExternalChange("Secret", change))
      .includes(true);
  const versionSeen = (): string | undefined => view.metadata(resource)?.resourceVersion;
  return { stores, view, shows, showsGone, versionSeen };
}

describe("TargetView after a write", () => {
  test("returns the written state immediately and ignores its echo in the watch", () => {
    const { view, shows, versionSeen } = setUp();
    view.recordWrite(resource, object("10"));
    expect(versionSeen()).toBe("10");
    expect(shows(object("10"))).toBe(false);
    expect(versionSeen()).toBe("10");
  });

  test("ignores an older state that the watch shows later", () => {
    const { view, shows, versionSeen } = setUp();
    view.recordWrite(resource, object("10"));
    expect(shows(object("8"))).toBe(false);
    expect(versionSeen()).toBe("10");
  });

  test("reports a newer state as an external change", () => {
    const { view, shows, versionSeen } = setUp();
    view.recordWrite(resource, object("10"));
    shows(object("10"));
    expect(shows(object("11"))).toBe(true);
    expect(versionSeen()).toBe("11");
  });

  test("treats the written state as verified for a resource of the same type", () => {
    const { view } = setUp();
    view.recordWrite(resource, object("10"));
    expect(view.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(true);
    expect(view.isVerified(resource, { uid: "u1", resourceVersion: "11" })).toBe(false);
    const tls = syncResource([], { target: { kind: "Secret", name: "db", type: "kubernetes.io/tls" } });
    expect(view.isVerified(tls, { uid: "u1", resourceVersion: "10" })).toBe(false);
    const map = syncResource([], { target: { kind: "ConfigMap", name: "db", type: "Opaque" } });
    expect(view.isVerified(map, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });
});

test("TargetView does not treat a state that was only read as verified", () => {
  const { view, versionSeen } = setUp();
  view.recordRead(resource, object("10"));
  expect(versionSeen()).toBe("10");
  expect(view.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
});

describe("TargetView after a deletion", () => {
  test("returns no target while the watch still shows it", () => {
    const { view, shows, versionSeen } = setUp();
    shows(object("10"));
    view.recordDelete(resource, "u1");
    expect(versionSeen()).toBeUndefined();
    expect(view.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });

  test("drops the verified state", () => {
    const { view } = setUp();
    view.recordWrite(resource, object("10"));
    view.recordDelete(resource, "u1");
    expect(view.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });

  test("reports an external deletion before the watch showed the own write", () => {
    const { view, shows, showsGone, versionSeen } = setUp();
    shows(object("9"));
    view.recordWrite(resource, object("10"));
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBeUndefined();
  });

  test("reports a recreated object as an external change", () => {
    const { view, shows, versionSeen } = setUp();
    shows(object("10"));
    view.recordDelete(resource, "u1");
    expect(shows(object("12", "u2"))).toBe(true);
    expect(versionSeen()).toBe("12");
  });

  test("reports an external deletion and drops all state", () => {
    const { view, shows, showsGone, versionSeen } = setUp();
    view.recordWrite(resource, object("10"));
    shows(object("10"));
    expect(showsGone("u1")).toBe(true);
    expect(versionSeen()).toBeUndefined();
    expect(view.isVerified(resource, { uid: "u1", resourceVersion: "10" })).toBe(false);
  });
});

test("targetMetadata keeps no value and no foreign label or annotation", () => {
  const canary = "canary-target-view-51ce";
  const metadata = {
    name: "db",
    namespace: "shop",
    labels: { "app.kubernetes.io/managed-by": "vaultsync", team: canary },
    annotations: { "vaultsync.dev/owner": "VaultSecret/db", "kubectl.kubernetes.io/last-applied-configuration": canary },
    managedFields: [canary],
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: canary, uid: "u" }],
    deletionTimestamp: "2026-11-21T00:00:00Z",
  };
  const kept = targetMetadata({ apiVersion: "v1", kind: "Secret", metadata, data: { a: canary } });
  expect(JSON.stringify(kept)).not.toContain(canary);
  expect(kept).toMatchObject({ owners: [{ uid: "u", controller: false }], deleting: true });
});

test("VerifiedStates identifies a state by target, uid and resourceVersion", () => {
  const verified = new VerifiedStates();
  verified.mark("Secret/shop/db", "u1", "5", "Opaque");
  expect(verified.isState("Secret/shop/db", "u1", "5")).toBe(true);
  expect(verified.isState("Secret/shop/db", "u1", "6")).toBe(false);
  expect(verified.isState("Secret/shop/db", "u2", "5")).toBe(false);
  expect(verified.isState("ConfigMap/shop/db", "u1", "5")).toBe(false);
});

test("VerifiedStates verifies a state only for the same type", () => {
  const verified = new VerifiedStates();
  verified.mark("Secret/shop/db", "u1", "5", "Opaque");
  expect(verified.has("Secret/shop/db", "u1", "5", "Opaque")).toBe(true);
  expect(verified.has("Secret/shop/db", "u1", "5", "kubernetes.io/tls")).toBe(false);
  expect(verified.has("Secret/shop/db", "u1", "5", undefined)).toBe(false);
  expect(verified.has("Secret/shop/db", "u1", "6", "Opaque")).toBe(false);
});

test("VerifiedStates keeps only the last state of a target, and none after forget", () => {
  const verified = new VerifiedStates();
  verified.mark("t", "u1", "5", undefined);
  verified.mark("t", "u1", "6", undefined);
  expect(verified.isState("t", "u1", "5")).toBe(false);
  verified.forget("t");
  expect(verified.has("t", "u1", "6", undefined)).toBe(false);
});
