import { seededRandom } from "../../lab/seeded-random.ts";
import { NAMESPACES, VAULTS } from "../cast.ts";
import type { Command } from "../commands.ts";
import { FILE_NAMES, SECRET_NAMES } from "../invariants/spec-items.ts";
import { Draw } from "../random-features.ts";
import { valueForms } from "../simulated-values.ts";
import type { BesideCommand } from "./beside-commands.ts";
import { BesideScene, besideSequence, PUSHING } from "./beside-scenes.ts";

/**
 * Reports whether an episode has VaultPushes next to resources that read their entries. No planted
 * bug that was there before them is looked for in such an episode first.
 */
export const hasPushes = (seed: number): boolean => seed % 13 === 12 || seed % 16 === 6;

/** Share of the commands that one of this file follows, and most sequences. */
const SHARES = { commands: 0.12, second: 0.5 };
/** The VaultPushes whose entries the random resources of the episode read. */
const PUSHES = ["push", "rival"] as const;
const SECRET = "source";

/**
 * Returns the commands with VaultPushes, in some episodes, whose entries the resources of the
 * episode read: the commands of all others are unchanged.
 */
export function withPushes(commands: readonly Command[], seed: number): Command[] {
  if (!hasPushes(seed)) return [...commands];
  const random = seededRandom(seed ^ 0x9054);
  const vault = VAULTS[Math.floor(random() * VAULTS.length)]!;
  const count = random() < SHARES.second ? 2 : 1;
  const sequences = Array.from({ length: count }, (_, index) => ({
    at: Math.floor(((index + random()) * commands.length) / (count + 1)),
    commands: besideSequence(random, vault),
  }));
  const all = commands.flatMap((command, index) => [
    ...sequences.flatMap((one) => (one.at === index ? one.commands : [])),
    command,
    ...(random() < SHARES.commands ? [besideCommand(new BesideScene(random, vault))] : []),
  ]);
  const start = NAMESPACES.flatMap((namespace) => {
    const scene = new BesideScene(random, vault, namespace);
    return [scene.pushing(), ...keys(scene).map((key) => setKey(scene, key)), put(scene)];
  });
  return all.toSpliced(NAMESPACES.length + 1, 0, ...start).slice(0, commands.length);
}

/** Returns some names of entries: their keys have the same names. */
function keys(scene: BesideScene): string[] {
  const some = [...SECRET_NAMES, FILE_NAMES[0]].filter(() => scene.below(0.4));
  return some.length > 0 ? some : [SECRET_NAMES[0]];
}

function setKey(scene: BesideScene, key: string): BesideCommand {
  const form = scene.below(0.3) ? scene.pick(valueForms) : "plain";
  return { type: "push", how: "set", namespace: scene.namespace, name: SECRET, key, form };
}

const isFile = (key: string): boolean => FILE_NAMES.some((name) => name === key);

function put(scene: BesideScene): BesideCommand {
  const spec = {
    secret: { name: SECRET },
    data: keys(scene).map((key) => ({
      secretKey: key,
      ...(isFile(key) ? { file: { filename: key } } : { remoteRef: { key } }),
      ...(!isFile(key) && scene.below(0.1) && { deleteTime: scene.pick(["5m", "3h"]) }),
      ...(!isFile(key) &&
        scene.below(0.2) && {
          metadata: { environment_type: scene.pick(["prod", "test"]), expiration_time: 36_500 },
        }),
    })),
    ...(scene.below(0.07) && { suspend: true }),
    ...(scene.below(0.6) && { deletionPolicy: scene.pick(["Delete", "Retain"]) }),
  };
  return scene.push(scene.pick(PUSHES), spec);
}

/** Returns another connection to the vault. It reads a part of its secrets. */
function scoped(scene: BesideScene): Command {
  const command = scene.connection({ scope: { environmentType: ["prod"] } });
  return { ...command, name: "other" } as Command;
}

function besideCommand(scene: BesideScene): Command {
  const { namespace, random } = scene;
  const name = scene.pick(PUSHES);
  const choices: readonly (readonly [number, () => Command])[] = [
    [10, () => setKey(scene, scene.pick(keys(scene)))],
    [3, () => put(scene)],
    [1.5, () => ({ type: "push", how: "delete", namespace, name })],
    [
      0.5,
      () => ({
        type: "push",
        how: "remove-key",
        namespace,
        name: SECRET,
        key: scene.pick(keys(scene)),
      }),
    ],
    [0.3, () => ({ type: "push", how: "delete-source", namespace, name: SECRET })],
    [
      0.7,
      () => ({
        type: "push",
        how: "force",
        namespace,
        name,
        value: `${Math.floor(random() * 1e6)}`,
      }),
    ],
    [1, () => scene.pushing()],
    [0.4, () => scoped(scene)],
    [0.4, () => ({ type: "delete", kind: "VaultConnection", namespace, name: PUSHING })],
  ];
  return new Draw(random).weighted(choices)();
}
