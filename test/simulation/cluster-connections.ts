import type { Random } from "../../src/lib/random.ts";
import type { Command } from "./commands.ts";
import { CLUSTER_ACCOUNT, CREATOR, NAMESPACES, urlOf, VAULTS } from "./world.ts";

/** Name of the ClusterVaultConnection and of a VaultConnection in each namespace. */
const NAME = "main";
/** Entries that an access allows: all, some, or none. */
const GLOBS = [["*"], ["*"], ["s*", "f1"], ["s1", "f*"], ["s2"], []] as const;
const TEAMS = ["red", "blue"] as const;

/**
 * Reports whether an episode has a connection of the cluster. Other episodes are the same as in
 * earlier releases, including their planted bugs.
 */
export const hasClusterConnections = (seed: number): boolean => seed % 7 === 1 || seed % 7 === 2;

/**
 * Returns the commands with a ClusterVaultConnection: some resources refer to it, some secrets
 * belong to its account, and its access, its vault and the labels of the namespaces change.
 */
export function withClusterConnections(commands: readonly Command[], random: Random): Command[] {
  const make = new ClusterCommandMaker(random);
  const start = [make.connect(), ...NAMESPACES.map((namespace) => make.label(namespace))];
  const all = commands.flatMap((command) => [
    make.changed(command),
    ...(random() < 0.06 ? [make.command()] : []),
  ]);
  return [...start, ...all].slice(0, commands.length);
}

class ClusterCommandMaker {
  readonly #random: Random;
  /** The spec of the last VaultConnection. */
  #last: object = { trustedOwners: [CREATOR] };

  constructor(random: Random) {
    this.#random = random;
  }

  command(): Command {
    const choice = this.#random();
    if (choice < 0.5) return this.label(this.#pick(NAMESPACES));
    return choice < 0.9 ? this.connect() : { type: "delete-cluster-connection", name: NAME };
  }

  connect(): Command {
    const access = TEAMS.filter(() => this.#random() < 0.8).map((team) => ({
      namespaceSelector: this.#selector(team),
      secrets: this.#pick(GLOBS),
      files: this.#pick(GLOBS),
    }));
    const spec = {
      ...this.#last,
      url: urlOf(this.#pick(VAULTS)),
      email: CLUSTER_ACCOUNT,
      auth: { passwordSecretRef: { name: "login", key: "password" } },
      refreshInterval: this.#pick(["5s", "10s", "60s"]),
      ...(this.#random() < 0.1 && { scope: { onlyReferenced: true } }),
      access,
    };
    return { type: "put-cluster-connection", name: NAME, spec };
  }

  /** Selects the namespaces of a team, in most cases. */
  #selector(team: string): object {
    if (this.#random() < 0.7) return { matchLabels: { team } };
    const values = [team];
    const requirement = this.#pick([
      { operator: "In", values },
      { operator: "NotIn", values },
      { operator: "Exists" },
      { operator: "DoesNotExist" },
    ]);
    return { matchExpressions: [{ key: "team", ...requirement }] };
  }

  label(namespace: string): Command {
    return {
      type: "label",
      namespace,
      labels: this.#random() < 0.2 ? {} : { team: this.#pick(TEAMS) },
    };
  }

  changed(command: Command): Command {
    if (command.type === "write-secret" || command.type === "upload-file")
      return this.#random() < 0.4 ? { ...command, owner: CLUSTER_ACCOUNT } : command;
    if (command.type === "share")
      return this.#random() < 0.3 ? { ...command, to: CLUSTER_ACCOUNT } : command;
    if (command.type !== "put") return command;
    if (command.kind === "VaultConnection") this.#last = command.spec;
    if (command.kind === "VaultConnection" || this.#random() < 0.5) return command;
    return {
      ...command,
      spec: { ...command.spec, connectionRef: { kind: "ClusterVaultConnection", name: NAME } },
    };
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }
}
