import { expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncResource,
  VAULT,
} from "../../../test/lab/kube/sync-resource.ts";
import { decide } from "./decide.ts";
import type { Resolution } from "./resolution.ts";
import { sourceId, type TargetState } from "./target.ts";

/**
 * An entry that is deleted and recreated in the vault starts again at version 1: the same version,
 * other bytes.
 */
const item = { id: "password", source: "db", owner: undefined, version: "latest" } as const;
const resource = syncResource([item]);

function found(createdAt: number | undefined): Resolution {
  const listed = createdAt === undefined ? undefined : new Map([[1, createdAt]]);
  return { state: "found", item, candidate: candidate(1, { createdAt: listed }), version: 1 };
}

function syncedTarget(createdAt: number | undefined): TargetState {
  const synced = new Map([
    ["password", { version: 1, source: sourceId(VAULT, "db", "ops@example.com"), createdAt }],
  ]);
  return ownedTarget(synced);
}

test("decide refetches the same version if it was created at another time", () => {
  expect(decide(resource, [found(2000)], syncedTarget(1000)).plan).toMatchObject({
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
    expect(decide(resource, [found(listed)], syncedTarget(synced)).plan.action).toBe("verify");
  }
});
