import { afterEach, describe, expect, test, vi } from "vitest";
import { SyncController } from "../../src/operator/controllers/sync/sync-controller.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { Command } from "./commands.ts";
import { plantedBugs, sourcesWith } from "./planted-bugs.ts";
import { randomCommands } from "./random-commands.ts";
import { advance, ENTRY, NAMESPACE, SYNCED } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";

type Bug = "takes over objects" | "digest without claims";

const planted = vi.hoisted((): { bug: Bug | undefined } => ({ bug: undefined }));

vi.mock(import("../../src/operator/sync/target.ts"), async (importOriginal) => {
  const original = await importOriginal();
  return {
    ...original,
    targetState: (resource, metadata) => {
      const state = original.targetState(resource, metadata);
      if (planted.bug !== "takes over objects" || state.state !== "foreign" || metadata === undefined) return state;
      const { uid, resourceVersion } = metadata;
      const none = { content: undefined, synced: new Map(), annotationsCorrupted: true, hasMetadata: false };
      return { state: "owned", uid, resourceVersion, ...none };
    },
  };
});

vi.mock(import("../../src/operator/sync/content.ts"), async (importOriginal) => {
  const original = await importOriginal();
  return {
    ...original,
    contentDigest: (key, input) =>
      original.contentDigest(key, planted.bug === "digest without claims" ? { ...input, synced: new Map() } : input),
  };
});

afterEach(() => {
  planted.bug = undefined;
  vi.restoreAllMocks();
});

const wait = advance(300_000);

const bugs: readonly {
  readonly bug: string;
  readonly commands: readonly Command[];
  readonly invariant: string;
  readonly plant: () => void;
}[] = [
  {
    bug: "objects of others are written",
    commands: randomCommands(seededRandom(2), 400),
    invariant: "I8",
    plant: () => void (planted.bug = "takes over objects"),
  },
  {
    bug: "a change of the vault does not wake up",
    commands: [...SYNCED, { type: "write-secret", ...ENTRY }, wait],
    invariant: "I5",
    plant: () => void vi.spyOn(SyncController.prototype, "onSnapshotChange").mockReturnValue(),
  },
  {
    bug: "the digest does not cover claims",
    commands: [...SYNCED, { type: "tamper", kind: "Secret", namespace: NAMESPACE, name: "alpha", how: 2 }, wait],
    invariant: "I5",
    plant: () => void (planted.bug = "digest without claims"),
  },
];

describe("the simulation finds a planted bug:", () => {
  test.for(bugs)("$bug", { timeout: 120_000 }, async ({ commands, invariant, plant }) => {
    expect(await runEpisode(2, commands)).toBeUndefined();
    plant();
    expect(await runEpisode(2, commands)).toMatchObject({ invariant });
  });
});

test.for(Object.keys(plantedBugs))("npm run simulation:bugs can still plant: %s", (bug) => {
  expect(sourcesWith(bug).size).toBeGreaterThan(0);
});
