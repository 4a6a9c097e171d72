import { seededRandom } from "../lab/seeded-random.ts";
import { Scene } from "./coinciding-changes.ts";
import type { Command } from "./commands.ts";
import { SECRET_NAMES } from "./invariants/spec-items.ts";
import { withSequence } from "./sequences.ts";

/** Share of the episodes with such an edit. */
const SHARE = 0.05;

/**
 * Returns the commands with edits, in some episodes, after which a target has the bytes of a secret
 * under a key that it does not feed, until its `delete_time`. Its random numbers are separate: all
 * other episodes are unchanged.
 */
export function withMovedKeys(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x30ed);
  if (random() >= SHARE) return [...commands];
  return withSequence(commands, movedKeys(new Scene(random)), random);
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
