import { afterEach, describe, expect, test, vi } from "vitest";
import { SyncController } from "../../src/operator/controllers/sync/sync-controller.ts";
import { seededRandom } from "../support/seeded-random.ts";
import type { Command } from "./commands.ts";
import { randomCommands } from "./random-commands.ts";
import { runEpisode } from "./simulate.ts";
import { accountOf, urlOf } from "./world.ts";

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

const namespace = "one";
const entry = { vault: "a", owner: accountOf(namespace), name: "s1" } as const;
const auth = { passwordSecretRef: { name: "login" } };
const connection = { url: urlOf("a"), email: accountOf(namespace), auth, refreshInterval: "5s", follow: "Interval" };
const items = [{ secretKey: "k1", remoteRef: { key: "s1" } }];
const wait: Command = { type: "advance", ms: 300_000 };
/** A resource that is in sync. */
const synced: readonly Command[] = [
  { type: "put", kind: "VaultConnection", namespace, name: "main", spec: connection },
  { type: "write-secret", ...entry },
  { type: "put", kind: "VaultSecret", namespace, name: "alpha", spec: { connectionRef: { name: "main" }, data: items } },
  wait,
];

const bugs: readonly { readonly bug: string; readonly commands: readonly Command[]; readonly plant: () => void }[] = [
  {
    bug: "objects of others are written",
    commands: randomCommands(seededRandom(2), 400),
    plant: () => void (planted.bug = "takes over objects"),
  },
  {
    bug: "a change of the vault does not wake up",
    commands: [...synced, { type: "write-secret", ...entry }, wait],
    plant: () => void vi.spyOn(SyncController.prototype, "onSnapshotChange").mockReturnValue(),
  },
  {
    bug: "the digest does not cover claims",
    commands: [...synced, { type: "tamper", kind: "Secret", namespace, name: "alpha", how: 2 }, wait],
    plant: () => void (planted.bug = "digest without claims"),
  },
];

describe("the simulation finds a planted bug:", () => {
  test.for(bugs)("$bug", { timeout: 120_000 }, async ({ commands, plant }) => {
    expect(await runEpisode(2, commands)).toBeUndefined();
    plant();
    expect(await runEpisode(2, commands)).toMatchObject({ invariant: "I5" });
  });
});
