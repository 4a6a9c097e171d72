import * as fc from "fast-check";
import { expect, test } from "vitest";
import { quotaOf, shardOf } from "./shard-of.ts";

const connections = Array.from({ length: 2_000 }, (_, n) => `team-${n}/vault`);

test("connections are spread evenly over the shards", () => {
  const counts = [0, 0, 0, 0];
  for (const connection of connections) counts[shardOf(connection, 4)]! += 1;
  for (const count of counts) expect(count).toBeGreaterThan(400);
});

test("the shard of a connection is the same in each version: an update runs two of them", () => {
  const some = connections.slice(0, 12);
  expect(some.map((connection) => shardOf(connection, 3)).join("")).toBe("210100200010");
  expect(some.map((connection) => shardOf(connection, 8)).join("")).toBe("240504270077");
});

test("one more shard moves only the connections that it takes over", () => {
  const moved = connections.filter(
    (connection) => shardOf(connection, 5) !== shardOf(connection, 4),
  );
  expect(moved.every((connection) => shardOf(connection, 5) === 4)).toBe(true);
  expect(moved.length).toBeGreaterThan(300);
});

test("the quotas of all replicas add up to the number of shards and differ by at most one", () => {
  const identities = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(identities, fc.integer({ min: 1, max: 64 }), (replicas, shards) => {
      const quotas = replicas.map((identity) => quotaOf(identity, new Set(replicas), shards));
      expect(quotas.reduce((sum, quota) => sum + quota, 0)).toBe(shards);
      expect(Math.max(...quotas) - Math.min(...quotas)).toBeLessThanOrEqual(1);
    }),
  );
});
