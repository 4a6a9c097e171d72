import type { Random } from "../../src/lib/random.ts";
import type { Command } from "./commands.ts";

/** Returns the commands that end these replicas and start them again, one after the other. */
export const restartOf = (...replicas: readonly number[]): Command[] =>
  replicas.flatMap((replica): Command[] => [
    { type: "crash", replica },
    { type: "start", replica },
  ]);

/** Returns as many commands as before, with a sequence somewhere in their first half. */
export function withSequence(
  commands: readonly Command[],
  sequence: readonly Command[],
  random: Random,
): Command[] {
  const at = Math.floor((random() * commands.length) / 2);
  return commands.toSpliced(at, 0, ...sequence).slice(0, commands.length);
}
