import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  candidate,
  ownedTarget,
  syncItem,
  syncResource,
  VAULT,
} from "../../../test/lab/kube/sync-resource.ts";
import { decide } from "./decide.ts";
import type { Candidate, Remembered, Resolution } from "./resolution.ts";
import { resolveItem } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId, type TargetState } from "./target.ts";

const NOW = Date.UTC(2026, 10, 21);
const OWNERS = ["ops@example.com", "dba@example.com"];

const key = fc.constantFrom("a", "b", "c", "__proto__", "constructor");
const version = fc.integer({ min: 1, max: 4 });
const source = fc.constantFrom("s1", "s2");
const owner = fc.constantFrom(...OWNERS);

const item: fc.Arbitrary<SyncItem> = fc.record({
  id: key,
  source,
  owner: fc.option(owner, { nil: undefined }),
  version: fc.oneof(fc.constant("latest" as const), version),
});

const listed: fc.Arbitrary<Candidate> = fc
  .record({ latest: version, owner: fc.option(owner, { nil: undefined }), sized: fc.boolean() })
  .map((entry) =>
    candidate(entry.latest, {
      owner: entry.owner,
      own: entry.owner !== OWNERS[1],
      sizes: entry.sized ? new Map([[entry.latest, 10]]) : undefined,
    }),
  );

const syncedKeys = fc
  .dictionary(key, fc.record({ version, source, owner }), { maxKeys: 5 })
  .map(
    (keys) =>
      new Map(
        Object.entries(keys).map(([name, from]) => [
          name,
          { version: from.version, source: sourceId(VAULT, from.source, from.owner) },
        ]),
      ),
  );

const policy = fc.constantFrom("Delete" as const, "Retain" as const);

const target: fc.Arbitrary<TargetState> = fc.oneof(
  fc.constant<TargetState>({ state: "absent" }),
  fc.constant<TargetState>({ state: "foreign", owner: undefined }),
  fc
    .record({ synced: syncedKeys, annotationsCorrupted: fc.boolean(), hasMetadata: fc.boolean() })
    .map((changes): TargetState => ({
      state: "owned",
      uid: "u",
      resourceVersion: "1",
      content: "digest",
      ...changes,
    })),
);

interface World {
  readonly resource: SyncResource;
  readonly target: TargetState;
  readonly synced: ReadonlyMap<string, SyncedKey>;
  readonly resolutions: readonly Resolution[];
  readonly provenInMs: number;
  readonly held: boolean;
}

/** A resource, the listed entries of its items, their remembered state, and a target. */
const world: fc.Arbitrary<World> = fc
  .record({
    items: fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: 4 }),
    lists: fc.dictionary(source, fc.array(listed, { maxLength: 3 })),
    deadlines: fc.array(fc.constantFrom(undefined, NOW - 1, NOW, NOW + 1), {
      minLength: 4,
      maxLength: 4,
    }),
    whenRemoved: policy,
    whenMissing: policy,
    provenInMs: fc.constantFrom(0, 1),
    held: fc.boolean(),
    accepted: fc.array(
      fc.tuple(source, version).map(([name, number]) => `${name}@${number}`),
      { maxLength: 2 },
    ),
    target,
  })
  .map(
    ({
      items,
      lists,
      deadlines,
      whenRemoved,
      whenMissing,
      provenInMs,
      held,
      accepted,
      target: state,
    }) => {
      const resource = syncResource(items, {
        whenRemoved,
        whenMissing,
        accepted: new Set(accepted),
      });
      const synced = state.state === "owned" ? state.synced : new Map<string, SyncedKey>();
      const resolutions = items.map((one, at) => {
        const evidence = { deleteAt: deadlines[at], missingSince: NOW, provenInMs, held };
        const remembered: Remembered = { synced: synced.get(one.id), ...evidence };
        return resolveItem(resource, one, lists[one.source] ?? [], remembered, NOW);
      });
      return { resource, target: state, synced, resolutions, provenInMs, held };
    },
  );

const runs = { numRuns: 2_000 };

const isRemoved = ({ resource, resolutions, provenInMs, held }: World, id: string): boolean =>
  !held &&
  resolutions.some(
    ({ item: { id: name }, state }) =>
      name === id &&
      ((state === "removed" && resource.whenRemoved === "Delete") ||
        (state === "missing" && resource.whenMissing === "Delete" && provenInMs === 0)),
  );

test("decide drops a key only if its source is gone permanently or the spec no longer has it", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action === "keep") return;
      const kept = new Set(plan.action === "delete" ? [] : plan.entries.map(({ id }) => id));
      const unknown = the.target.state === "owned" && the.target.annotationsCorrupted;
      const mayBeHeld = the.resource.items
        .map(({ id }) => id)
        .filter((name) => unknown || the.synced.has(name));
      const lost = mayBeHeld.filter((name) => !kept.has(name));
      expect(lost.filter((name) => !isRemoved(the, name))).toEqual([]);
    }),
    runs,
  );
});

test("decide deletes a target only if it is owned and all that it has is of removed sources", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action !== "delete") return;
      expect(the.target.state).toBe("owned");
      expect(the.resource.items.length).toBeGreaterThan(0);
      expect(the.resource.items.some(({ id }) => isRemoved(the, id))).toBe(true);
      expect(
        the.resource.items.filter(({ id }) => the.synced.has(id) && !isRemoved(the, id)),
      ).toEqual([]);
    }),
    runs,
  );
});

test("decide fetches a lower version of an entry only if it is pinned or accepted", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action === "keep" || plan.action === "delete") return;
      const lower = plan.entries.filter((entry) => {
        const fetch = entry.from === "target" ? entry.refetch : entry.fetch;
        const synced = the.synced.get(entry.id);
        if (
          fetch === undefined ||
          synced?.source !== sourceId(VAULT, entry.item.source, fetch.candidate.owner)
        )
          return false;
        const asked =
          entry.item.version !== "latest" ||
          the.resource.accepted.has(`${entry.item.source}@${fetch.version}`);
        return fetch.version < synced.version && !asked;
      });
      expect(lower).toEqual([]);
    }),
    runs,
  );
});

test("decide creates a target with all keys except removed ones, or not at all", () => {
  fc.assert(
    fc.property(world, (the) => {
      if (the.target.state !== "absent") return;
      const { plan } = decide(the.resource, the.resolutions, the.target);
      expect(["keep", "write"]).toContain(plan.action);
      if (plan.action !== "write") return;
      const had = the.resolutions.filter(
        ({ state, item: { id } }) => state !== "removed" && !isRemoved(the, id),
      );
      expect(plan.entries.map(({ id }) => id)).toEqual(had.map((resolution) => resolution.item.id));
      expect(plan.entries.every(({ from }) => from === "vault")).toBe(true);
      expect(had.every(({ state }) => state === "found")).toBe(true);
    }),
    runs,
  );
});

test("decide keeps a foreign object unchanged", () => {
  fc.assert(
    fc.property(world, (the) => {
      if (the.target.state !== "foreign") return;
      expect(decide(the.resource, the.resolutions, the.target).plan).toEqual({ action: "keep" });
    }),
    runs,
  );
});

test("decide never plans duplicate keys, keys outside the spec, or an empty write", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action === "keep" || plan.action === "delete") return;
      const keys = plan.entries.map(({ id }) => id);
      const wanted = new Set(the.resource.items.map(({ id }) => id));
      expect(keys.length).toBeGreaterThan(0);
      expect(new Set(keys).size).toBe(keys.length);
      expect(keys.every((name) => wanted.has(name))).toBe(true);
    }),
    runs,
  );
});

test("decide reuses bytes only of the desired version and entry, or of an unavailable one", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action === "keep" || plan.action === "delete") return;
      for (const entry of plan.entries) {
        if (entry.from !== "target") continue;
        expect(entry.synced).toEqual(the.synced.get(entry.id));
        if (entry.refetch === undefined) continue;
        const { candidate: from, version: meant } = entry.refetch;
        expect(entry.synced).toEqual({
          version: meant,
          source: sourceId(VAULT, entry.item.source, from.owner),
        });
      }
    }),
    runs,
  );
});

test("decide reports Ready only if every entry was found and is part of the plan", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan, readyCondition } = decide(the.resource, the.resolutions, the.target);
      if (!readyCondition.ready || the.resource.items.length === 0) return;
      expect(the.resolutions.every(({ state }) => state === "found")).toBe(true);
      expect(["write", "repair", "verify"]).toContain(plan.action);
    }),
    runs,
  );
});

test("decide only verifies a target that was just written", () => {
  fc.assert(
    fc.property(world, (the) => {
      const { plan } = decide(the.resource, the.resolutions, the.target);
      if (plan.action !== "write") return;
      const synced = new Map(
        plan.entries.map((entry) => [
          entry.id,
          entry.from === "target"
            ? entry.synced
            : {
                version: entry.fetch.version,
                source: sourceId(VAULT, entry.item.source, entry.fetch.candidate.owner),
              },
        ]),
      );
      expect(decide(the.resource, the.resolutions, ownedTarget(synced)).plan.action).toBe("verify");
    }),
    runs,
  );
});

test("decide does not write an unchanged target, whatever the order of the items", () => {
  const items = [syncItem("a"), syncItem("b"), syncItem("c")];
  const synced = new Map(
    items.map(({ id }) => [id, { version: 1, source: sourceId(VAULT, id, OWNERS[0]) }]),
  );
  const state = ownedTarget(synced);
  fc.assert(
    fc.property(fc.shuffledSubarray(items, { minLength: 3 }), (order) => {
      const resolutions = order.map((one): Resolution => ({
        state: "found",
        item: one,
        candidate: candidate(1),
        version: 1,
      }));
      expect(decide(syncResource(order), resolutions, state).plan.action).toBe("verify");
    }),
  );
});
