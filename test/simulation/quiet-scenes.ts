import type { Random } from "../../src/lib/random.ts";
import { HOLD_ANNOTATION } from "../../src/operator/api/names.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import type { Command } from "./commands.ts";
import { SECRET_NAMES } from "./invariants/spec-items.ts";
import { restartOf, withSequence } from "./sequences.ts";

type Sequence = (scene: Scene) => Command[];

/**
 * Returns the commands with a scene, in some episodes, whose invariants judge only what happens
 * while nothing else does. Its random numbers are separate: all other episodes are unchanged.
 */
export function withQuietScenes(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x30ed);
  const edited = withOneOf([movedKeys, renamedKey, refreshed], 0.1, commands, random);
  return withOneOf([heldAndFrozen], 0.05, edited, seededRandom(seed ^ 0x4171));
}

/** Inserts one of the sequences into a share of the episodes. */
function withOneOf(
  sequences: readonly Sequence[],
  share: number,
  commands: readonly Command[],
  random: Random,
): Command[] {
  if (random() >= share) return [...commands];
  const scene = new Scene(random);
  return withSequence(commands, scene.pick(sequences)(scene), random);
}

const from = (secretKey: string, key: string): object => ({ secretKey, remoteRef: { key } });

/** Returns an edit that cannot be applied whole, and the end of a secret whose key it moved. */
export function movedKeys(scene: Scene): Command[] {
  const [gone, other, absent] = SECRET_NAMES;
  const target = { whenRemoved: scene.pick(["Delete", "Delete", "Retain"]) };
  const template = (...names: readonly string[]): object => {
    const all = names.map((name) => `{{ vars["${name}"] }}`).join("|");
    return { ...target, template: { data: { all: `tmpl:${all}` } } };
  };
  const all = [gone, other, absent].map((name) => from(name, name));
  const [before, after] = scene.pick<readonly [object, object]>([
    [
      { data: [from("k1", gone), from("k2", other)], target },
      { data: [from("k1", absent), from("k2", other), from("k3", gone)], target },
    ],
    [
      { data: all, target: template(gone, absent) },
      { data: [...all, from("k1", gone)], target: template("k1", absent) },
    ],
  ]);
  return [
    { type: "end-faults" },
    scene.connection(),
    ...SECRET_NAMES.map((name) => scene.write(name)),
    scene.resource(before),
    { type: "settle" },
    scene.remove(absent),
    scene.resource(after),
    { type: "settle" },
    scene.write(gone, { minutes: 3 }),
    scene.advance(420_000),
  ];
}

/** Returns the edit of the key of a missing secret, and what may happen before and after it. */
export function renamedKey(scene: Scene): Command[] {
  const [gone, other] = SECRET_NAMES;
  const target = { creationPolicy: scene.pick(["Owner", "Owner", "Orphan"]) };
  const updates = scene.pick([undefined, { approval: "Required" }]);
  const spec = (key: string): object => ({
    data: [from(key, gone), from("k2", other)],
    target,
    updates,
  });
  return [
    { type: "end-faults" },
    scene.connection(),
    scene.write(gone),
    scene.write(other),
    scene.resource(spec("k1")),
    { type: "settle" },
    scene.remove(gone),
    scene.advance(240_000),
    scene.resource(spec("k3")),
    scene.advance(5_000),
    ...scene.maybe(0.3, ...restartOf(0, 1)),
    ...scene.maybe(0.3, scene.resource(spec("k4"))),
    ...scene.maybe(0.5, scene.write(other)),
    scene.advance(65_000),
    ...scene.maybe(0.5, scene.write(gone)),
    { type: "settle" },
  ];
}

/** Returns versions that come faster than a resource follows them, and maybe a restart. */
export function refreshed(scene: Scene): Command[] {
  const [name] = SECRET_NAMES;
  return [
    { type: "end-faults" },
    scene.connection(),
    scene.write(name),
    scene.resource({ data: [from("k1", name)], refreshInterval: "3m" }),
    { type: "settle" },
    scene.write(name),
    scene.advance(65_000),
    ...scene.maybe(0.5, ...restartOf(0, 1)),
    scene.write(name),
    scene.advance(65_000),
    scene.write(name),
    scene.advance(240_000),
  ];
}

/** Returns a name that a rule finds while a hold and a freeze keep its target, and maybe a restart. */
export function heldAndFrozen(scene: Scene): Command[] {
  const [first, second] = SECRET_NAMES;
  const find = { name: { regexp: `^(${first}|${second})$` } };
  return [
    { type: "end-faults" },
    scene.connection(),
    scene.write(first),
    scene.remove(second),
    scene.resource({ dataFrom: [{ find }] }),
    { type: "settle" },
    scene.annotate({ [HOLD_ANNOTATION]: scene.pick(["*", '{"versions": {"k1": 1}}']) }),
    { type: "freeze", minutes: 60 },
    scene.advance(180_000),
    scene.write(second),
    scene.advance(65_000),
    ...scene.maybe(0.5, ...restartOf(0, 1)),
    scene.write(first),
    scene.advance(65_000),
    scene.annotate({ [HOLD_ANNOTATION]: null }),
    { type: "unfreeze" },
    { type: "settle" },
  ];
}
