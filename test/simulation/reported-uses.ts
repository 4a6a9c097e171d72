import { seededRandom } from "../lab/seeded-random.ts";
import type { Command } from "./commands.ts";

/** Shares of the episodes and of their connections that report uses. */
const SHARES = { episodes: 0.5, connections: 0.7, explicit: 0.3 };

/**
 * Returns the commands with connections that report the resources for which values are read. Their
 * random numbers are separate: the field changes nothing else of an episode.
 */
export function withReportedUses(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x05e5);
  if (random() >= SHARES.episodes) return [...commands];
  const reported = (spec: object): object => {
    if (random() < SHARES.connections) return { ...spec, reportUse: true };
    return random() < SHARES.explicit ? { ...spec, reportUse: false } : spec;
  };
  return commands.map((command) => {
    if (command.type === "put-cluster-connection")
      return { ...command, spec: reported(command.spec) };
    return command.type === "put" && command.kind === "VaultConnection"
      ? { ...command, spec: reported(command.spec) }
      : command;
  });
}
