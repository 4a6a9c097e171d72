import { seededRandom } from "../lab/seeded-random.ts";
import { HOSTS_ANNOTATION } from "../../src/operator/api/names.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { NAMESPACES, PASSWORD } from "./cast.ts";
import type { Command } from "./commands.ts";
import { putCaBundle, removeCaBundle } from "./workloads.ts";
import type { World } from "./world.ts";

/** Changes of the objects that the connections of a namespace need. */
export const breakages = [
  "remove-bundle",
  "garbage-bundle",
  "no-certificate",
  "remove-password",
  "remove-login",
  "forbid-host",
  "repair",
] as const;

export interface BreakCommand {
  readonly type: "break-connection";
  readonly namespace: string;
  readonly how: (typeof breakages)[number];
}

/** Share of the episodes with broken connections, and of the commands that are followed by one. */
const SHARES = { episodes: 0.35, commands: 0.03 };
/** Share of the commands that repair what is broken. */
const REPAIRS = 0.4;
const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

/** Makes connections of a namespace invalid, or valid again. @throws StatusError */
export function breakConnection(world: World, { namespace, how }: BreakCommand): void {
  const { server } = world;
  const login = { namespace, name: "login" };
  switch (how) {
    case "remove-bundle":
      return removeCaBundle(server, namespace);
    case "garbage-bundle":
      return putCaBundle(server, namespace, GARBAGE);
    case "no-certificate":
      return putCaBundle(server, namespace, "no certificate");
    case "remove-password":
      return void server.replace(SECRETS, { ...server.get(SECRETS, login), data: {} });
    case "remove-login":
      return server.delete(SECRETS, login);
    case "forbid-host": {
      const annotations = { [HOSTS_ANNOTATION]: "other.example.com" };
      return void server.patch(SECRETS, login, { metadata: { annotations } });
    }
    case "repair":
      putCaBundle(server, namespace);
      return world.setPassword(namespace, PASSWORD);
  }
}

/**
 * Returns the commands with connections that become invalid and valid again, in some episodes: the
 * commands of all others are unchanged.
 */
export function withBrokenConnections(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0xb40c);
  if (random() >= SHARES.episodes) return [...commands];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const broken = (): Command => ({
    type: "break-connection",
    namespace: pick(NAMESPACES),
    how: random() < REPAIRS ? "repair" : pick(breakages),
  });
  return commands
    .flatMap((command) => (random() < SHARES.commands ? [command, broken()] : [command]))
    .slice(0, commands.length);
}
