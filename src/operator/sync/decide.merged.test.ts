import { expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncItem,
  syncResource,
  VAULT,
} from "../../../test/lab/kube/sync-resource.ts";
import { decide, type Plan } from "./decide.ts";
import type { Resolution } from "./resolution.ts";
import { sourceId, type TargetState } from "./target.ts";

/** A resource that adds its key `a` to an object of another owner. */
const item = syncItem("a");
const policy = { creationPolicy: "Merge", labels: {}, annotations: {}, immutable: false } as const;
const resource = syncResource([item], {
  target: { kind: "Secret", name: "app", type: undefined },
  policy,
});
const found: Resolution = { state: "found", item, candidate: candidate(3), version: 3 };
const removed: Resolution = { state: "removed", item, deleteAt: 0, deletion: "due" };

/** Returns the state of an object that contains these keys of the resource. */
const merged = (...keys: readonly string[]): TargetState =>
  ownedTarget(
    new Map(
      keys.map((key) => [key, { version: 3, source: sourceId(VAULT, key, "ops@example.com") }]),
    ),
  );

test.each<[string, Resolution, TargetState, Plan["action"]]>([
  ["adds its key", found, merged(), "write"],
  ["verifies its key", found, merged("a"), "verify"],
  [
    "keeps an object that has none of its keys when the vault removed the source",
    removed,
    merged(),
    "keep",
  ],
])("a resource that merges %s", (_, resolution, state, action) => {
  expect(decide(resource, [resolution], state).plan.action).toBe(action);
});

test("a resource that merges removes its last key, not the object, with its source", () => {
  expect(decide(resource, [removed], merged("a")).plan).toEqual({ action: "write", entries: [] });
});

test("a resource that merges removes bytes of another entry when the one of its spec is gone", () => {
  const gone: Resolution = { state: "missing", item, deletion: "due", isAbsent: true };
  expect(decide(resource, [gone], merged("a")).plan).toEqual({ action: "write", entries: [] });
  expect(decide(resource, [gone], merged()).plan.action).toBe("keep");
});

test("a resource that merges never creates the object", () => {
  expect(decide(resource, [found], { state: "absent" })).toEqual({
    plan: { action: "keep" },
    readyCondition: {
      ready: false,
      reason: "TargetMissing",
      message:
        "the Secret app does not exist, and creationPolicy Merge only adds keys to an object of others: create it, or change spec.target",
    },
  });
});
