import { expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncItem,
  syncResource,
  VAULT,
} from "../../../test/lab/kube/sync-resource.ts";
import { decide } from "./decide.ts";
import { sourceId } from "./target.ts";

/** The API server rejects a typed Secret without a key that its type requires. */
const items = [syncItem("tls.crt"), syncItem("tls.key")];
const resource = syncResource(items, {
  target: { kind: "Secret", name: "tls", type: "kubernetes.io/tls" },
});
const synced = new Map(
  items.map(({ source }) => [
    source,
    { version: 1, source: sourceId(VAULT, source, "ops@example.com") },
  ]),
);
const target = ownedTarget(synced);

test("decide deletes a typed Secret whose required key was removed, and names that key", () => {
  const [crt, key] = items;
  const found = { state: "found", item: crt!, candidate: candidate(2), version: 2 } as const;
  const removed = { state: "removed", item: key!, deleteAt: 0, deletion: "due" } as const;
  const { plan, readyCondition } = decide(resource, [found, removed], target);
  expect(plan.action).toBe("delete");
  expect(readyCondition.reason).toBe("SourceRemoved");
  expect(readyCondition.message).toContain(
    "; no target can be made of the rest: a Secret of type kubernetes.io/tls requires the keys tls.key",
  );
});

test("decide keeps a typed Secret whose removed source is not in it any more", () => {
  const [crt, key] = items;
  const found = { state: "found", item: crt!, candidate: candidate(2), version: 2 } as const;
  const removed = { state: "removed", item: key!, deleteAt: 0, deletion: "due" } as const;
  const left = ownedTarget(
    new Map([["tls.crt", { version: 1, source: sourceId(VAULT, "tls.crt", "ops@example.com") }]]),
  );
  expect(decide(resource, [found, removed], left).plan).toEqual({ action: "keep" });
});

test("decide keeps a typed Secret that has another source's bytes under the key of the gone one", () => {
  const [crt, key] = items;
  const found = { state: "found", item: crt!, candidate: candidate(2), version: 2 } as const;
  const gone = { state: "missing", item: key!, deletion: "due", isAbsent: true } as const;
  const eager = { ...resource, whenMissing: "Delete" } as const;
  expect(decide(eager, [found, gone], target).plan).toEqual({ action: "keep" });
  expect(decide(eager, [found, { ...gone, isAbsent: false }], target).plan.action).toBe("delete");
});

test("decide deletes a typed Secret if all its sources were removed", () => {
  const removed = items.map(
    (item) => ({ state: "removed", item, deleteAt: 0, deletion: "due" }) as const,
  );
  expect(decide(resource, removed, target).plan.action).toBe("delete");
});

test("decide deletes a basic-auth Secret that would keep neither its user nor its password", () => {
  const others = ["username", "password", "found"].map((name) => syncItem(name));
  const basic = syncResource(others, {
    target: { kind: "Secret", name: "login", type: "kubernetes.io/basic-auth" },
  });
  const bytes = new Map(
    others.map(({ source }) => [
      source,
      { version: 1, source: sourceId(VAULT, source, "ops@example.com") },
    ]),
  );
  const stateOf = (item: (typeof others)[number], isGone: boolean) =>
    isGone
      ? ({ state: "removed", item, deleteAt: 0, deletion: "due" } as const)
      : ({ state: "found", item, candidate: candidate(1), version: 1 } as const);
  const planWithout = (...gone: string[]) =>
    decide(
      basic,
      others.map((item) => stateOf(item, gone.includes(item.source))),
      ownedTarget(bytes),
    ).plan.action;
  expect(planWithout("username")).toBe("write");
  expect(planWithout("username", "password")).toBe("delete");
});

test("decide names all keys that the type of a Secret requires and the spec lacks", () => {
  const { plan, readyCondition } = decide({ ...resource, items: [] }, [], { state: "absent" });
  expect(plan).toEqual({ action: "keep" });
  expect(readyCondition.message).toBe(
    "spec.data: a Secret of type kubernetes.io/tls requires the keys tls.crt and tls.key",
  );
});
