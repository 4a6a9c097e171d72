import { describe, expect, test } from "vitest";
import { seededRandom } from "../lab/seeded-random.ts";
import { coincidingChanges, sequenceNames } from "./coinciding-changes.ts";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, resource, SYNCED } from "./scenes.ts";
import { commandsOf, EPISODE_STEPS, runEpisode, seedOfEpisode } from "./simulate.ts";

const EPISODES = 100;

const isOfCluster = (one: Command): boolean =>
  one.type === "confirm-removals" && one.namespace === undefined;
const write = (name: string): Command => ({ type: "write-secret", ...ENTRY, name });
const rule = (rewrite?: object, target: object = {}): Command =>
  resource("delta", {
    data: undefined,
    dataFrom: [
      {
        find: { name: { regexp: "^r[1-3]$" } },
        ...(rewrite && { rewrite: [{ regexp: rewrite }] }),
      },
    ],
    target,
  });

const restart = (...between: readonly Command[]): Command[] => [
  ...[0, 1].map((replica): Command => ({ type: "crash", replica })),
  ...between,
  ...[0, 1].map((replica): Command => ({ type: "start", replica })),
];

test("random episodes wipe statuses, and confirm removals of a ClusterVaultConnection", () => {
  const all = Array.from({ length: EPISODES }, (_, index) =>
    commandsOf(seedOfEpisode(1, index), EPISODE_STEPS),
  );
  const count = (isCounted: (command: Command) => boolean): number =>
    all.filter((commands) => commands.some(isCounted)).length;
  expect(count(({ type }) => type === "wipe-statuses")).toBeGreaterThan(10);
  expect(count(isOfCluster)).toBeGreaterThan(2);
});

test.for(sequenceNames)("the operator converges after changes that coincide: %s", async (name) => {
  for (const seed of [1, 2, 3]) {
    const commands = coincidingChanges(name, seededRandom(seed));
    expect(await runEpisode(seed, commands)).toBeUndefined();
  }
});

describe("a found name is missing when an edit", () => {
  // The key left the target with its bytes, or the former target did.
  test.each([
    ["makes another key of it", rule({ source: "^r", target: "x" })],
    ["also renames the target", rule({ source: "^r", target: "x" }, { name: "moved" })],
    ["makes one key of several names", rule({ source: "^r.$", target: "all" })],
    ["does both", rule({ source: "^r.$", target: "all" }, { name: "moved" })],
  ])("%s", async (_, edit) => {
    const commands: Command[] = [
      connection(),
      write("r1"),
      write("r2"),
      rule(),
      advance(90_000),
      { type: "remove-entry", ...ENTRY, name: "r1" },
      advance(300_000),
      edit,
      advance(60_000),
    ];
    expect(await runEpisode(1, commands)).toBeUndefined();
  });
});

test("the statuses are removed while all replicas are down", async () => {
  const commands: Command[] = [
    ...SYNCED,
    { type: "wipe-statuses", namespace: "one", of: "all" },
    advance(60_000),
    ...restart({ type: "wipe-statuses", namespace: "one", of: "all" }),
  ];
  expect(await runEpisode(1, commands)).toBeUndefined();
});
