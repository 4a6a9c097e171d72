import { describe, expect, test } from "vitest";
import type { Command } from "./commands.ts";
import { advance, connection, ENTRY, NAMESPACE, resource } from "./scenes.ts";
import { runEpisode } from "./simulate.ts";
import { accountOf, CREATOR } from "./world.ts";

const NAMES = ["m1", "m2", "m3", "m4", "m5"];
const IN_NAMESPACE = { namespace: NAMESPACE } as const;
const FOREIGN = { type: "add-foreign", kind: "Secret", name: "other", how: 3 } as const;
const CONFIRM = { type: "confirm-removals", name: "main", right: true } as const;
const VANISH = { type: "vanish", vault: ENTRY.vault, prefix: "m" } as const;
const DOWN = [0, 1].map((replica): Command => ({ type: "crash", replica }));
const UP = [0, 1].map((replica): Command => ({ type: "start", replica }));
/** The last digit of a seed decides whether the episode ends with another restart. */
const [WITHOUT_RESTART, WITH_RESTART] = [1, 2];

const writing = (owner: string): Command[] =>
  NAMES.map((name): Command => ({ type: "write-secret", ...ENTRY, owner, name }));
const removing = (name: string): Command => ({
  type: "delete",
  kind: "VaultSecret",
  ...IN_NAMESPACE,
  name,
});
const sharing = NAMES.map((name): Command => ({
  type: "share",
  vault: ENTRY.vault,
  name,
  to: accountOf(NAMESPACE),
}));
const dataOf = (names: readonly string[], keys = "k"): object => ({
  data: names.map((key, at) => ({ secretKey: `${keys}${at + 1}`, remoteRef: { key } })),
});
const RULE = { data: undefined, dataFrom: [{ find: { name: { regexp: "^m" } } }] };
const removingTarget = (target: object): object => ({
  target: { whenMissing: "Delete", ...target },
});
const renamed = (name: string, keys: string): Command =>
  resource("beta", { ...dataOf(NAMES, keys), ...removingTarget({ name }) });

/** Ways in which a resource is created again. */
const ways: readonly (readonly [string, (put: Command) => readonly Command[]])[] = [
  ["and the same process syncs it", (put) => [removing("beta"), advance(1_000), put]],
  ["a minute later", (put) => [removing("beta"), advance(60_000), put]],
  ["before all restart", (put) => [removing("beta"), advance(1_000), put, ...DOWN, ...UP]],
  ["after all restarted", (put) => [removing("beta"), advance(1_000), ...DOWN, ...UP, put]],
  ["while no process runs", (put) => [...DOWN, removing("beta"), put, ...UP]],
];

// Nothing but the target said what it has: the status of the new resource was empty, and the target
// had not been read when a list was compared with it. The keys, or the target, were removed, and no
// user had confirmed that.
describe.each(["on", "off"] as const)(
  "while many removals are held (watch of targets: %s)",
  (targetWatch) => {
    const start: readonly Command[] = [
      { type: "configure", flags: { targetWatch, leaderElect: false } },
      connection({ refreshInterval: "10s" }),
      ...writing(ENTRY.owner),
    ];

    describe.each([
      ["of a target that stays", { creationPolicy: "Orphan" }, dataOf(NAMES)],
      ["of a target that stays, with a rule,", { creationPolicy: "Orphan" }, RULE],
      ["that merges keys", { creationPolicy: "Merge", name: "other" }, dataOf(NAMES)],
      ["that merges keys by a rule", { creationPolicy: "Merge", name: "other" }, RULE],
    ])("a resource %s is deleted and created again", (_, target, sources) => {
      const put = resource("beta", { ...sources, ...removingTarget(target) });
      const foreign = target.creationPolicy === "Orphan" ? [] : [{ ...FOREIGN, ...IN_NAMESPACE }];

      test.each(ways)("%s", async (__, again) => {
        const synced = [...start, ...foreign, put, advance(60_000)];
        const commands = [...synced, VANISH, advance(10_500), ...again(put), advance(120_000)];
        expect(await runEpisode(WITHOUT_RESTART, commands)).toBeUndefined();
      });
    });

    test("several resources are deleted and created again while no process runs", async () => {
      const target = removingTarget({ creationPolicy: "Orphan" });
      const put = NAMES.map((name) => resource(name, { ...dataOf([name]), ...target }));
      const again = [...DOWN, ...NAMES.map(removing), ...put, ...UP];
      const synced = [...start, ...put, advance(60_000)];
      const commands = [...synced, VANISH, advance(10_500), ...again, advance(120_000)];
      expect(await runEpisode(WITH_RESTART, commands)).toBeUndefined();
    });

    // The entries of another account made the operator look for targets with entries of this owner. It
    // knew none that keys are merged into.
    test("another account shares secrets of the names that an object has", async () => {
      const commands = [
        ...start,
        ...writing(CREATOR),
        ...sharing,
        { ...FOREIGN, ...IN_NAMESPACE },
        resource("beta", {
          ...dataOf(NAMES),
          ...removingTarget({ creationPolicy: "Merge", name: "other" }),
        }),
        advance(60_000),
        { ...VANISH, spared: CREATOR },
        advance(120_000),
      ];
      expect(await runEpisode(WITH_RESTART, commands)).toBeUndefined();
    });

    // A former target that was not read counted as one with everything, also after it was deleted:
    // nothing ended the hold.
    test.each(["k", "n"])(
      "a user confirms them, and renames the target (keys: %s)",
      async (keys) => {
        const synced = [...start, renamed("one", "k"), advance(60_000)];
        const removed = [VANISH, advance(60_000), { ...CONFIRM, ...IN_NAMESPACE }, advance(60_000)];
        const commands = [...synced, ...removed, renamed("two", keys), advance(60_000)];
        expect(await runEpisode(WITH_RESTART, commands)).toBeUndefined();
      },
    );
  },
);
