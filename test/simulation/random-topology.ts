import type { Random } from "../../src/lib/random.ts";
import type { OperatorFlags } from "../../src/operator/config.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import type { Command } from "./commands.ts";
import type { FanOutCommand } from "./fan-out-commands.ts";
import { OTHER_TYPE, randomFlags } from "./random-flags.ts";
import { AUTO_WORKLOAD, WORKLOAD, workloadChanges } from "./workloads.ts";
import { tokenSecretOf } from "./stored-tokens.ts";
import { restartOf } from "./sequences.ts";
import { NAMESPACES, SYSTEM_NAMESPACE, VAULTS, vaultAt, accountOf, urlOf } from "./world.ts";

/**
 * An object of a user that resources of several shards merge keys into: the connections of its
 * namespace are in two of them.
 */
const MERGED = { kind: "Secret", namespace: "two", name: "shared-target" } as const;
/** The connections of that namespace, each at a separate vault. */
const CONNECTIONS = { main: VAULTS[0], other: VAULTS[1] } as const;

/**
 * A resource that merges moves to the connection of another shard while the vault of the former one
 * is slow.
 */
function moveToOtherShard(random: Random): Command[] {
  const { namespace } = MERGED;
  const owner = accountOf(namespace);
  const connect = ([name, vault]: readonly [string, string]): Command[] => {
    const auth = { passwordSecretRef: { name: "login" } };
    const spec = {
      url: urlOf(vault),
      email: owner,
      auth,
      refreshInterval: "5s",
      follow: "Interval",
    };
    return [
      { type: "put", kind: "VaultConnection", namespace, name, spec },
      { type: "write-secret", vault, owner, name: "s1" },
    ];
  };
  const resource = (connection: keyof typeof CONNECTIONS): Command => {
    const data = [{ secretKey: "k1", remoteRef: { key: "s1" } }];
    const target = { name: MERGED.name, creationPolicy: "Merge" };
    return {
      type: "put",
      kind: "VaultSecret",
      namespace,
      name: "alpha",
      spec: { connectionRef: { name: connection }, data, target },
    };
  };
  return [
    { type: "end-faults" },
    ...Object.entries(CONNECTIONS).flatMap(connect),
    resource("main"),
    { type: "advance", ms: 60_000 },
    { type: "vault-fault", vault: CONNECTIONS.main, fault: "slow", share: 1 },
    { type: "write-secret", vault: CONNECTIONS.main, owner, name: "s1" },
    { type: "advance", ms: Math.floor(random() * 12_000) },
    resource("other"),
    { type: "advance", ms: 20_000 },
    { type: "end-faults" },
  ];
}

/**
 * Features that an episode may have in addition to its flags. Each has a few: a violation has few
 * possible causes.
 */
const TOPOLOGIES = [
  "flags",
  "rights",
  "scale",
  "proxies",
  "controllers",
  "tools",
  "addresses",
  "types",
  "gateways",
  "workloads",
  "tokens",
] as const;
type Topology = (typeof TOPOLOGIES)[number];

/** Share of the episodes with all defaults, and of the topologies in each other one. */
const SHARES = { plain: 0.2, topology: 0.34 };
/** Commands of this file for each other one. */
const RATE = 0.06;
const TARGETS = ["alpha", "beta", "gamma", "shared-target"] as const;

/**
 * Returns the commands with the flags of an episode, and with changes of the topology in between.
 */
export function withTopology(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x70b0);
  if (random() < SHARES.plain) return [...commands];
  const make = new TopologyMaker(random);
  const all = commands.flatMap((command) => [
    make.changed(command),
    ...(random() < RATE ? make.commands() : []),
  ]);
  return [...make.start(), ...all].slice(0, commands.length);
}

class TopologyMaker {
  readonly #random: Random;
  readonly #mix: ReadonlySet<Topology>;
  readonly #flags: OperatorFlags;

  constructor(random: Random) {
    this.#random = random;
    this.#mix = new Set(TOPOLOGIES.filter(() => random() < SHARES.topology));
    this.#flags = this.#flagsOf();
  }

  /**
   * Returns random flags, usually with those without which a topology of the episode would have no
   * effect.
   */
  #flagsOf(): OperatorFlags {
    const has = (topology: Topology): boolean => this.#mix.has(topology) && this.#random() < 0.7;
    const { namespaces, ...flags } = randomFlags(this.#random);
    const listed = { namespacesFile: "/etc/vaultsync/namespaces" };
    const rights = has("rights") ? this.#pick([{ namespaces: ["one", "two"] }, listed]) : {};
    return {
      ...(flags.namespacesFile === undefined &&
        Object.keys(rights).length === 0 &&
        namespaces !== undefined && { namespaces }),
      ...(flags.namespacesFile === undefined && rights),
      ...(has("workloads") && { autoRestart: "on" as const }),
      ...(has("types") && { allowedSecretTypes: [OTHER_TYPE] }),
      ...flags,
    };
  }

  /** Returns what the episode starts with. */
  start(): Command[] {
    return [
      this.#list(),
      { type: "configure", flags: this.#flags },
      ...(this.#isSharded ? [{ type: "add-foreign", ...MERGED, how: 3 } as const] : []),
      ...(this.#mix.has("proxies") ? [this.#proxy()] : []),
      ...(this.#mix.has("scale") ? [this.#scale()] : []),
    ];
  }

  get #isSharded(): boolean {
    return (this.#flags.shards ?? 1) > 1;
  }

  commands(): Command[] {
    if (this.#isSharded && this.#random() < 0.15) return moveToOtherShard(this.#random);
    const choices: Readonly<Record<Topology, () => Command[]>> = {
      flags: () => (this.#random() < 0.3 ? this.#rollout() : []),
      rights: () => this.#rights(),
      scale: () => [this.#scale()],
      proxies: () => [this.#proxy()],
      controllers: () => [this.#control()],
      tools: () => [
        {
          type: "strip",
          ...this.#target(),
          what: this.#pick(["labels", "annotations", "both"] as const),
        },
      ],
      addresses: () => [],
      types: () => [],
      gateways: () => [],
      workloads: () => [this.#workload()],
      tokens: () => [
        {
          type: "store-tokens",
          namespace: this.#pick([...NAMESPACES, SYSTEM_NAMESPACE]),
          vault: this.#pick(VAULTS),
        },
      ],
    };
    const [first] = this.#mix.size === 0 ? [] : [this.#pick([...this.#mix])];
    return first === undefined ? [] : choices[first]();
  }

  /** Returns a command of another source as this topology has it. */
  changed(command: Command): Command {
    if (command.type === "vault-fault" && this.#mix.has("gateways") && this.#random() < 0.5)
      return { ...command, fault: "other-json" };
    if (command.type === "put-cluster-connection")
      return { ...command, spec: this.#connection(command.spec) };
    if (command.type === "fan-out") return this.#fannedOut(command);
    if (command.type !== "put") return command;
    if (command.kind === "VaultConnection")
      return { ...command, spec: this.#connection(command.spec) };
    const { target = {}, ...spec } = command.spec as {
      readonly target?: { readonly creationPolicy?: string };
    };
    const isMerged = target.creationPolicy === "Merge";
    if (
      command.kind === "VaultSecret" &&
      this.#mix.has("types") &&
      command.name === "beta" &&
      !isMerged
    )
      return { ...command, spec: { ...spec, target: { ...target, type: OTHER_TYPE } } };
    // Another operator can take only a target that its resource does not control.
    if (this.#mix.has("controllers") && this.#random() < 0.3)
      return { ...command, spec: { ...spec, target: { ...target, creationPolicy: "Orphan" } } };
    if (
      command.kind === "VaultSecret" &&
      this.#isSharded &&
      command.namespace === MERGED.namespace &&
      this.#random() < 0.3
    )
      return {
        ...command,
        spec: { ...spec, target: { name: MERGED.name, creationPolicy: "Merge" } },
      };
    return command;
  }

  #fannedOut(command: FanOutCommand): Command {
    if (command.how !== "put") return command;
    const { target = {}, ...spec } = command.spec as { readonly target?: object };
    const changed = (changes: object): Command => ({
      ...command,
      spec: { ...spec, target: { ...target, ...changes } },
    });
    const isTyped = this.#mix.has("types") && command.name === "beta";
    if (isTyped && command.kind === "ClusterVaultSecret") return changed({ type: OTHER_TYPE });
    const isControlled = this.#mix.has("controllers") && this.#random() < 0.3;
    return isControlled ? changed({ creationPolicy: "Orphan" }) : command;
  }

  #connection(spec: object): object {
    const {
      url = "",
      scope: _,
      ...others
    } = spec as { readonly url?: string; readonly scope?: object };
    if (this.#mix.has("addresses") && this.#random() < 0.15)
      return { ...spec, url: url.replace("https:", "http:") };
    if (!this.#mix.has("tokens") || this.#random() < 0.5) return spec;
    return { url, ...others, auth: { tokenSecretRef: { name: tokenSecretOf(vaultAt(url)) } } };
  }

  /** The replicas get other flags one after the other. */
  #rollout(): Command[] {
    const flags = randomFlags(this.#random);
    const wait = (): Command => ({ type: "advance", ms: Math.floor(this.#random() * 40_000) });
    return [
      { type: "configure", flags },
      { type: "stop", replica: 0 },
      wait(),
      { type: "stop", replica: 1 },
      wait(),
    ];
  }

  #rights(): Command[] {
    const namespace = this.#pick(NAMESPACES);
    const kind = this.#random();
    // Without the flag, the file is not read until others are configured.
    if (this.#random() < (this.#flags.namespacesFile === undefined ? 0.1 : 0.5))
      return [this.#list(), ...(kind < 0.3 ? [{ type: "settle" } as const] : [])];
    if (kind < 0.22) return this.#deniedStart(namespace);
    if (kind < 0.42) return [{ type: "rights", namespace, granted: false }];
    if (kind < 0.7) return [{ type: "rights", namespace, granted: true }];
    return [{ type: kind < 0.93 ? "delete-namespace" : "create-namespace", namespace }];
  }

  /** Replicas start while a namespace is denied. */
  #deniedStart(namespace: string): Command[] {
    const restart = restartOf(0, 1, 2);
    return [{ type: "rights", namespace, granted: false }, ...restart, { type: "settle" }];
  }

  #list(): Command {
    return { type: "list-namespaces", namespaces: this.#pick([["one", "two"], ["one"], ["two"]]) };
  }

  #control(): Command {
    const target = this.#target();
    // Usually the name of the resource, as after a migration.
    const controller = this.#random() < 0.7 ? target.name : this.#pick([...TARGETS, "other"]);
    return { type: "control", ...target, controller, replace: this.#random() < 0.3 };
  }

  #scale(): Command {
    return { type: "scale", replicas: this.#pick([1, 2, 3]) };
  }

  #proxy(): Command {
    const vault = this.#pick(VAULTS);
    if (this.#random() < 0.2) return { type: "proxy", vault };
    return {
      type: "proxy",
      vault,
      proxy: { cutMs: this.#pick([15_000, 30_000]), how: this.#pick(["504", "reset"] as const) },
    };
  }

  #workload(): Command {
    const name = this.#pick([WORKLOAD, AUTO_WORKLOAD]);
    return {
      type: "workload",
      namespace: this.#pick(NAMESPACES),
      name,
      change: this.#pick(workloadChanges),
    };
  }

  #target(): {
    readonly kind: "Secret" | "ConfigMap";
    readonly namespace: string;
    readonly name: string;
  } {
    return {
      kind: this.#random() < 0.8 ? "Secret" : "ConfigMap",
      namespace: this.#pick(NAMESPACES),
      name: this.#pick(TARGETS),
    };
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }
}
