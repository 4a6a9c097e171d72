import { expect, test } from "vitest";
import { decide } from "./decide.ts";
import type { Candidate, Resolution } from "./resolve.ts";
import type { SyncResource } from "./sync-resource.ts";
import { sourceId, type TargetState } from "./target.ts";

/** An entry that is deleted and recreated in the vault starts again at version 1: the same version, other bytes. */
const item = { targetKey: "password", source: "db", owner: undefined, version: "latest" } as const;
const resource: SyncResource = {
  kind: "VaultSecret",
  namespace: "shop",
  name: "db",
  uid: "uid",
  generation: 1,
  connection: "vault",
  suspend: false,
  items: [item],
  target: { kind: "Secret", name: "db", type: "Opaque" },
  whenRemoved: "Delete",
  accepted: new Set(),
};

function found(createdAt: number | undefined): Resolution {
  const candidate: Candidate = {
    owner: "ops@example.com",
    own: true,
    latest: 1,
    sizes: undefined,
    createdAt: createdAt === undefined ? undefined : new Map([[1, createdAt]]),
    expiresAt: undefined,
    deleteAt: undefined,
  };
  return { state: "found", item, candidate, version: 1 };
}

function ownedTarget(createdAt: number | undefined): TargetState {
  const synced = new Map([["password", { version: 1, source: sourceId("db", "ops@example.com"), createdAt }]]);
  return { state: "owned", uid: "u", resourceVersion: "1", content: "digest", synced, annotationsCorrupted: false };
}

test("decide refetches the same version if it was created at another time", () => {
  expect(decide(resource, [found(2000)], ownedTarget(1000)).plan).toMatchObject({
    action: "write",
    entries: [{ from: "vault" }],
  });
});

test("decide reuses the same version if its creation time is equal or unknown", () => {
  for (const [listed, synced] of [
    [1000, 1000],
    [undefined, 1000],
    [1000, undefined],
  ]) {
    expect(decide(resource, [found(listed)], ownedTarget(synced)).plan.action).toBe("verify");
  }
});
