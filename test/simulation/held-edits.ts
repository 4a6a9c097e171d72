import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import type { Command } from "./commands.ts";
import { MANY_NAMES } from "./invariants/spec-items.ts";
import { restartOf, withSequence } from "./sequences.ts";

/** Share of the episodes with such an edit. */
const SHARE = 0.1;

/**
 * Returns the commands with edits, in some episodes, that are made while removals are held: a user
 * takes references away and restores them, renames or suspends a target, or creates a resource or
 * its connection again. Its random numbers are separate: all other episodes are unchanged.
 */
export function withHeldEdits(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x4e1d);
  if (random() >= SHARE) return [...commands];
  return withSequence(commands, heldEdits(new Scene(random)), random);
}

/** Returns one loss of many names, edits before and after it is proven, and maybe its end. */
export function heldEdits(scene: Scene): Command[] {
  const { namespace, vault } = scene;
  const target = { whenMissing: scene.pick(["Delete", "Delete", "Retain"]) };
  const following = (names: readonly string[], changes: object = {}): Command =>
    scene.resource({
      data: names.map((key) => ({ secretKey: key, remoteRef: { key } })),
      target,
      ...changes,
    });
  const rest = MANY_NAMES.filter(() => scene.below(0.4));
  const whole = following(MANY_NAMES);
  const connection = scene.connection();
  const pause = (): Command => scene.advance(scene.random() ** 2 * 420_000);
  const without = (kind: "VaultSecret" | "VaultConnection", name: string): Command => ({
    type: "delete",
    kind,
    namespace,
    name,
  });
  const edits: readonly (readonly Command[])[] = [
    [following(rest), pause(), whole],
    [following(rest), pause(), following(rest, { target: { ...target, name: "moved-1" } }), whole],
    [following(MANY_NAMES, { target: { ...target, name: "moved-2" } }), pause(), whole],
    [following(MANY_NAMES, { suspend: true }), pause(), following(rest), pause(), whole],
    [following(MANY_NAMES, { suspend: true }), without("VaultConnection", "main"), pause()],
    [without("VaultConnection", "main"), pause()],
    [without("VaultSecret", "delta"), pause(), whole],
  ];
  const isConfirmed = scene.below(0.7);
  return [
    { type: "end-faults" },
    connection,
    ...MANY_NAMES.map((name) => scene.write(name)),
    whole,
    scene.advance(90_000),
    { type: "vanish", vault, prefix: "m" },
    pause(),
    ...scene.pick(edits),
    connection,
    ...scene.maybe(0.3, ...restartOf(0, 1)),
    pause(),
    ...scene.maybe(0.5, ...scene.pick(edits), connection),
    ...scene.maybe(0.4, ...MANY_NAMES.filter(() => scene.below(0.5)).map((n) => scene.write(n))),
    ...scene.maybe(0.4, {
      type: "confirm-removals",
      namespace,
      name: "main",
      right: isConfirmed,
    }),
    whole,
    scene.advance(420_000),
  ];
}
