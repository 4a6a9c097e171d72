import type { Random } from "../../src/lib/random.ts";
import type { Command } from "./commands.ts";
import { SECRET_NAMES } from "./invariants/spec-history.ts";
import { membersOf } from "./simulated-vaults.ts";
import { apiFaults, vaultFaults } from "./networks.ts";
import { accountOf, CREATOR, NAMESPACES, urlOf, VAULTS } from "./world.ts";
import { WORKLOAD } from "./workloads.ts";

const RESOURCES = ["alpha", "beta", "gamma"] as const;
const CONNECTIONS = ["main", "other"] as const;
const ENTRIES = SECRET_NAMES;
const FILES = ["f1", "f2"] as const;
const KEYS = ["k1", "k2", "k3"] as const;

/**
 * Features that only some episodes have, because a check accepts much in their presence. Examples: I5 accepts any state of an entry that
 * was removed, and I1 any removal of a missing one under `whenMissing: Delete`.
 */
const FEATURES = ["removals", "whenMissing", "apiFaults", "silence", "skews"] as const;
type Feature = (typeof FEATURES)[number];

/** Returns `count` random commands. Equal seeds give equal commands. */
export function randomCommands(random: Random, count: number): Command[] {
  const make = new CommandMaker(random);
  const commands: Command[] = [];
  while (commands.length < count) commands.push(...make.commands());
  return commands.slice(0, count);
}

class CommandMaker {
  readonly #random: Random;
  /** The vaults that have a secret, by its name: one may lack what the other has. */
  readonly #vaultsOf: ReadonlyMap<string, readonly string[]>;
  /** The vaults in which secrets get deadlines. */
  readonly #withDeadlines: readonly string[];
  readonly #mix: ReadonlySet<Feature>;

  constructor(random: Random) {
    this.#random = random;
    this.#vaultsOf = new Map(ENTRIES.map((name) => [name, this.#some(VAULTS)]));
    this.#withDeadlines = random() < 0.7 ? [this.#pick(VAULTS)] : [];
    this.#mix = new Set(FEATURES.filter(() => random() < 0.5));
  }

  /** Returns a random command, or several that reach together what single ones rarely do. */
  commands(): Command[] {
    const kind = this.#random();
    if (kind < 0.01) return this.#pause();
    return kind < 0.03 ? this.#outage() : [this.#command()];
  }

  /** A vault fails, while specs of a namespace change and deadlines pass, for longer than it takes to prove that an entry is gone. */
  #outage(): Command[] {
    const namespace = this.#pick(NAMESPACES);
    const connection = this.#random() < 0.8 ? "main" : "other";
    const put = (kind = this.#kind()): Command => this.#put(kind, namespace, connection);
    const fault = this.#pick(["unreachable", "500", "404", "404", "html", "empty"] as const);
    return [
      { type: "end-faults" },
      put("VaultConnection"),
      ...Array.from({ length: 2 }, () => put()),
      ...ENTRIES.map((name) => this.#writeSecret({ owner: accountOf(namespace), name }, { share: 0.8, minutes: 3 })),
      { type: "advance", ms: Math.floor(this.#random() * 60_000) },
      ...this.#some(VAULTS).map((vault): Command => ({ type: "vault-fault", vault, fault, share: 1 })),
      ...Array.from({ length: 3 }, () => put(this.#random() < 0.6 ? "VaultConnection" : this.#kind())),
      { type: "advance", ms: 60_000 + Math.floor(this.#random() * 240_000) },
      { type: "end-faults" },
    ];
  }

  /** A replica stands still while it has work to do, until the other one leads; then it continues. */
  #pause(): Command[] {
    const replica = this.#replica();
    const faults: Command[] = [{ type: "end-faults" }, { type: "api-fault", fault: "slow", share: this.#random() }];
    const writes = Array.from({ length: 4 }, () => this.#writeSecret());
    return [
      ...faults,
      ...writes,
      { type: "advance", ms: Math.floor(this.#random() * 12_000) },
      { type: "suspend", replica },
      { type: "advance", ms: 20_000 + Math.floor(this.#random() * 40_000) },
      { type: "resume", replica },
      { type: "advance", ms: Math.floor(this.#random() * 5_000) },
      { type: "end-faults" },
    ];
  }

  #command(): Command {
    const choices: readonly (readonly [number, () => Command])[] = [
      [30, () => ({ type: "advance", ms: Math.floor(this.#random() ** 3 * 30_000) })],
      [1, () => ({ type: "advance", ms: Math.floor(this.#random() * 600_000) })],
      [14, () => this.#writeSecret()],
      [3, () => ({ type: "upload-file", ...this.#place(), owner: this.#account(), name: this.#pick(FILES) })],
      [this.#rate("removals", 2), () => ({ type: "remove-entry", ...this.#entry() })],
      [this.#rate("removals", 2), () => ({ type: "remove-version", ...this.#entry() })],
      [3, () => ({ type: "share", ...this.#place(), name: this.#pick(ENTRIES), to: this.#account() })],
      [this.#rate("removals", 2), () => ({ type: "unshare", ...this.#place(), name: this.#pick(ENTRIES), to: this.#account() })],
      [this.#rate("removals", 1), () => ({ type: this.#pick(["back-up", "restore"] as const), ...this.#place() })],
      [1, () => ({ type: "revoke-tokens", ...this.#place(), account: this.#account(), refresh: this.#random() < 0.3 })],
      [
        0.5,
        () => ({
          type: this.#pick(["vault-password", "login-password"] as const),
          namespace: this.#pick(NAMESPACES),
          right: this.#random() < 0.7,
        }),
      ],
      [12, () => this.#put()],
      [
        2,
        () => ({
          type: "delete",
          kind: this.#kind(),
          namespace: this.#pick(NAMESPACES),
          name: this.#pick([...RESOURCES, ...CONNECTIONS]),
        }),
      ],
      [
        3,
        () => ({
          type: this.#pick(["delete-target", "add-foreign"] as const),
          ...this.#target(),
          how: Math.floor(this.#random() * 3),
        }),
      ],
      [4, () => ({ type: "tamper", ...this.#target(), how: Math.floor(this.#random() * 6) })],
      [0.3, () => ({ type: "delete-lease" })],
      [this.#rate("apiFaults", 4), () => ({ type: "api-fault", fault: this.#pick(apiFaults), share: this.#share() })],
      [3, () => ({ type: "vault-fault", ...this.#place(), fault: this.#pick(vaultFaults), share: this.#share() })],
      [4, () => ({ type: "end-faults" })],
      [1, () => ({ type: "watch-lag", ms: Math.floor(this.#random() ** 3 * 30_000) })],
      [1.5, () => ({ type: this.#pick(["drop-watches", "drop-watches", "compact"] as const) })],
      [this.#rate("silence", 1), () => ({ type: "silence-watches" })],
      [
        2,
        () => ({
          type: this.#pick(["crash", "stop", "start", "start", "suspend", "resume", "resume"] as const),
          replica: this.#replica(),
        }),
      ],
      [
        this.#rate("skews", 1),
        () => ({ type: "skew", replica: this.#replica(), ms: this.#pick([0, 600_000, -600_000, 3_600_000, -3_600_000]) }),
      ],
      [0.4, () => ({ type: "settle" })],
    ];
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.#random() * total;
    const [, make] = choices.find(([weight]) => (at -= weight) < 0) ?? choices[0]!;
    return make();
  }

  /** Returns the rate of a command: 0 in episodes without the feature. */
  #rate(feature: Feature, rate: number): number {
    return this.#mix.has(feature) ? rate : 0;
  }

  /** @param deadlines share of the writes that set one, at most `minutes` later */
  #writeSecret(entry: { owner: string; name: string } = this.#entry(), deadlines = { share: 0.1, minutes: 10 }): Command {
    const { owner, name } = entry;
    const vault = this.#pick(this.#vaultsOf.get(name)!);
    const hasDeadline = this.#random() < deadlines.share && this.#withDeadlines.includes(vault);
    const deadline = hasDeadline ? { minutes: 1 + Math.floor(this.#random() * deadlines.minutes) } : {};
    return { type: "write-secret", vault, owner, name, ...deadline };
  }

  #put(
    kind = this.#kind(),
    namespace: (typeof NAMESPACES)[number] = this.#pick(NAMESPACES),
    connection: string = this.#pick(CONNECTIONS),
  ): Command {
    if (kind === "VaultConnection")
      return { type: "put", kind, namespace, name: connection, spec: this.#connectionSpec(namespace) };
    const name = this.#pick(RESOURCES);
    const connectionRef = { name: this.#random() < 0.8 ? "main" : "other" };
    const suspend = this.#random() < 0.05 ? { suspend: true } : {};
    const target = this.#targetSpec();
    const rolloutRestart = name === "gamma" ? {} : { rolloutRestart: [{ kind: "Deployment", name: WORKLOAD }] };
    if (kind === "VaultSecret") {
      const data = this.#some(KEYS).map((secretKey) => this.#dataEntry(secretKey));
      const dataFrom = this.#dataFrom();
      return {
        type: "put",
        kind,
        namespace,
        name,
        spec: { connectionRef, ...suspend, ...rolloutRestart, data, ...dataFrom, target },
      };
    }
    const files = this.#some(FILES).map((filename) => ({ filename, ...this.#version() }));
    return {
      type: "put",
      kind,
      namespace,
      name,
      spec: {
        connectionRef,
        ...suspend,
        ...rolloutRestart,
        files,
        target: { kind: this.#pick(["Secret", "ConfigMap"]), ...target },
      },
    };
  }

  #dataEntry(secretKey: string): object {
    const key = this.#pick(ENTRIES);
    const property = this.#random() < 0.3 ? { property: `/${membersOf(key).always}` } : {};
    const optional = this.#random() < 0.15 ? { optional: true } : {};
    return { secretKey, remoteRef: { key, ...this.#version(), ...this.#owner(), ...property }, ...optional };
  }

  /** Returns a rule that makes several keys of sources, or none. */
  #dataFrom(): object {
    const kind = this.#random();
    if (kind < 0.15) return { dataFrom: [{ extract: { key: this.#pick(ENTRIES) } }] };
    return kind < 0.3 ? { dataFrom: [{ find: { name: { regexp: this.#pick(["^s[12]$", "^s"]) } } }] } : {};
  }

  #targetSpec(): object {
    const name = this.#random() < 0.85 ? {} : { name: this.#pick(["shared-target", ...RESOURCES]) };
    const whenMissing = this.#random() < 0.5 || !this.#mix.has("whenMissing") ? {} : { whenMissing: "Delete" };
    return { ...name, ...whenMissing };
  }

  #connectionSpec(namespace: string): object {
    const scope = this.#random() < 0.15 ? { scope: this.#pick([{ onlyReferenced: true }, { secretName: ["s1", "s2"] }]) } : {};
    return {
      url: urlOf(this.#pick(VAULTS)),
      email: accountOf(namespace),
      auth: { passwordSecretRef: { name: "login" } },
      refreshInterval: this.#pick(["5s", "10s", "60s"]),
      follow: this.#pick(["Auto", "Interval"]),
      ...scope,
    };
  }

  #version(): object {
    return this.#random() < 0.8 ? {} : { version: 1 + Math.floor(this.#random() * 3) };
  }

  #owner(): object {
    return this.#random() < 0.9 ? {} : { owner: CREATOR };
  }

  #entry(): { readonly vault: string; readonly owner: string; readonly name: string } {
    return { ...this.#place(), owner: this.#random() < 0.3 ? CREATOR : this.#account(), name: this.#pick(ENTRIES) };
  }

  #place(): { readonly vault: string } {
    return { vault: this.#pick(VAULTS) };
  }

  #target(): { readonly kind: "Secret" | "ConfigMap"; readonly namespace: string; readonly name: string } {
    return {
      kind: this.#random() < 0.8 ? "Secret" : "ConfigMap",
      namespace: this.#pick(NAMESPACES),
      name: this.#pick([...RESOURCES, "shared-target"]),
    };
  }

  #kind(): "VaultSecret" | "VaultFile" | "VaultConnection" {
    return this.#pick(["VaultSecret", "VaultSecret", "VaultFile", "VaultConnection"] as const);
  }

  #account(): string {
    return accountOf(this.#pick(NAMESPACES));
  }

  #replica(): number {
    return this.#random() < 0.5 ? 0 : 1;
  }

  #share(): number {
    return this.#random() < 0.3 ? 1 : this.#random();
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }

  #some<T>(from: readonly T[]): T[] {
    const chosen = from.filter(() => this.#random() < 0.5);
    return chosen.length > 0 ? chosen : [this.#pick(from)];
  }
}
