import type { Random } from "../../src/lib/random.ts";
import type { Command } from "./commands.ts";
import { apiFaults, vaultFaults } from "./networks.ts";
import { accountOf, CREATOR, NAMESPACES, urlOf, VAULTS } from "./world.ts";

const RESOURCES = ["alpha", "beta", "gamma"] as const;
const CONNECTIONS = ["main", "other"] as const;
const ENTRIES = ["s1", "s2", "s3"] as const;
const FILES = ["f1", "f2"] as const;
const KEYS = ["k1", "k2", "k3"] as const;

/** Returns `count` random commands. Equal seeds give equal commands. */
export function randomCommands(random: Random, count: number): Command[] {
  const make = new CommandMaker(random);
  const commands: Command[] = [];
  while (commands.length < count) commands.push(...make.commands());
  return commands.slice(0, count);
}

class CommandMaker {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns a random command, or several that reach together what single ones rarely do. */
  commands(): Command[] {
    return this.#random() < 0.01 ? this.#pause() : [this.#command()];
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
      [1, () => ({ type: "remove-entry", ...this.#entry() })],
      [1, () => ({ type: "remove-version", ...this.#entry() })],
      [3, () => ({ type: "share", ...this.#place(), name: this.#pick(ENTRIES), to: this.#account() })],
      [1, () => ({ type: "unshare", ...this.#place(), name: this.#pick(ENTRIES), to: this.#account() })],
      [0.5, () => ({ type: this.#pick(["back-up", "restore"] as const), ...this.#place() })],
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
        4,
        () => ({
          type: this.#pick(["delete-target", "tamper", "add-foreign"] as const),
          ...this.#target(),
          how: Math.floor(this.#random() * 6),
        }),
      ],
      [0.3, () => ({ type: "delete-lease" })],
      [2, () => ({ type: "api-fault", fault: this.#pick(apiFaults), share: this.#share() })],
      [3, () => ({ type: "vault-fault", ...this.#place(), fault: this.#pick(vaultFaults), share: this.#share() })],
      [4, () => ({ type: "end-faults" })],
      [1, () => ({ type: "watch-lag", ms: Math.floor(this.#random() ** 3 * 30_000) })],
      [2, () => ({ type: this.#pick(["drop-watches", "drop-watches", "silence-watches", "compact"] as const) })],
      [
        2,
        () => ({
          type: this.#pick(["crash", "stop", "start", "start", "suspend", "resume", "resume"] as const),
          replica: this.#replica(),
        }),
      ],
      [0.5, () => ({ type: "skew", replica: this.#replica(), ms: this.#pick([0, 600_000, -600_000, 3_600_000, -3_600_000]) })],
      [0.4, () => ({ type: "settle" })],
    ];
    const total = choices.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.#random() * total;
    const [, make] = choices.find(([weight]) => (at -= weight) < 0) ?? choices[0]!;
    return make();
  }

  #writeSecret(): Command {
    const deadline = this.#random() < 0.1 ? { minutes: 1 + Math.floor(this.#random() * 10) } : {};
    return { type: "write-secret", ...this.#entry(), ...deadline };
  }

  #put(): Command {
    const kind = this.#kind();
    const namespace = this.#pick(NAMESPACES);
    if (kind === "VaultConnection")
      return { type: "put", kind, namespace, name: this.#pick(CONNECTIONS), spec: this.#connectionSpec(namespace) };
    const name = this.#pick(RESOURCES);
    const connectionRef = { name: this.#random() < 0.8 ? "main" : "other" };
    const suspend = this.#random() < 0.05 ? { suspend: true } : {};
    const target = this.#random() < 0.85 ? {} : { name: this.#pick(["shared-target", ...RESOURCES]) };
    if (kind === "VaultSecret") {
      const data = this.#some(KEYS).map((secretKey) => ({
        secretKey,
        remoteRef: { key: this.#pick(ENTRIES), ...this.#version(), ...this.#owner() },
      }));
      return { type: "put", kind, namespace, name, spec: { connectionRef, ...suspend, data, target } };
    }
    const files = this.#some(FILES).map((filename) => ({ filename, ...this.#version() }));
    return {
      type: "put",
      kind,
      namespace,
      name,
      spec: { connectionRef, ...suspend, files, target: { kind: this.#pick(["Secret", "ConfigMap"]), ...target } },
    };
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
