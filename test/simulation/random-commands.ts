import { defined } from "../../src/operator/lib/defined.ts";
import type { Random } from "../../src/lib/random.ts";
import { ADOPT_ANNOTATION, CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";
import { CREATOR } from "./cast.ts";
import type { Command } from "./commands.ts";
import { expiry, move, followed, written } from "./deadline-scenes.ts";
import { MANY_NAMES, SECRET_NAMES } from "./invariants/spec-items.ts";
import { apiFaults, vaultFaults } from "./networks.ts";
import { CommandMaker, CONNECTIONS } from "./random-command.ts";
import { Draw, type Feature } from "./random-features.ts";
import { RESOURCES } from "./random-specs.ts";
import { SingleChanges } from "./single-changes.ts";
import { accountOf, NAMESPACES, VAULTS } from "./world.ts";

/** Returns `count` random commands. Equal seeds give equal commands. */
export function randomCommands(random: Random, count: number): Command[] {
  const make = new SequenceMaker(random);
  const commands: Command[] = [];
  while (commands.length < count) commands.push(...make.commands());
  return commands.slice(0, count);
}

/** Makes sequences of commands. Most of them have a single command. */
class SequenceMaker {
  readonly #draw: Draw;
  readonly #make: CommandMaker;
  readonly #changes: SingleChanges;

  constructor(random: Random) {
    this.#draw = new Draw(random);
    this.#make = new CommandMaker(this.#draw);
    this.#changes = new SingleChanges(this.#draw, this.#make);
  }

  /** Returns a random command, or several that reach together what single ones rarely do. */
  commands(): Command[] {
    const kind = this.#draw.random();
    if (kind < 0.01) return this.#pause();
    if (kind < 0.03) return this.#outage();
    if (kind < 0.034) return expiry(this.#draw, this.#make);
    if (kind < 0.1) return this.#scene();
    return [this.#make.command()];
  }

  /**
   * Returns a sequence for one of the features of the episode; a single command if it has none that
   * needs one.
   */
  #scene(): Command[] {
    const scenes: readonly (readonly [Feature, () => Command[]])[] = [
      ["renames", () => this.#renames()],
      ["Merge", () => this.#handOver()],
      ["Merge", () => this.#policies()],
      ["Orphan", () => this.#policies()],
      ["adopt", () => this.#handOver()],
      ["many", () => this.#disappearance()],
      ["removals", () => move(this.#draw, this.#make)],
      ["forceSync", () => this.#forcedSync()],
      ...this.#changes.scenes,
    ];
    const [, make] = this.#draw.pick([
      ...scenes.filter(([feature]) => this.#make.mix.has(feature)),
      ["plain", () => [this.#make.command()]] as const,
    ]);
    return make();
  }

  /**
   * A vault fails, while specs of a namespace change and deadlines pass, for longer than it takes
   * to prove that an entry is gone.
   */
  #outage(): Command[] {
    const namespace = this.#draw.pick(NAMESPACES);
    const connection = this.#draw.random() < 0.8 ? "main" : "other";
    const put = (kind = this.#make.kind()): Command => this.#make.put(kind, namespace, connection);
    const fault = this.#draw.pick(["unreachable", "500", "404", "404", "html", "empty"] as const);
    return [
      { type: "end-faults" },
      put("VaultConnection"),
      ...Array.from({ length: 2 }, () => put()),
      ...SECRET_NAMES.map((name) =>
        this.#make.writeSecret({ owner: accountOf(namespace), name }, { share: 0.8, minutes: 3 }),
      ),
      { type: "advance", ms: Math.floor(this.#draw.random() * 60_000) },
      ...this.#draw
        .some(VAULTS)
        .map((vault): Command => ({ type: "vault-fault", vault, fault, share: 1 })),
      ...Array.from({ length: 3 }, () =>
        put(this.#draw.random() < 0.6 ? "VaultConnection" : this.#make.kind()),
      ),
      { type: "advance", ms: 60_000 + Math.floor(this.#draw.random() * 240_000) },
      { type: "end-faults" },
    ];
  }

  /**
   * A replica stands still while it has work to do, until the other one leads; then it continues.
   */
  #pause(): Command[] {
    const replica = this.#make.replica();
    const faults: Command[] = [
      { type: "end-faults" },
      { type: "api-fault", fault: "slow", share: this.#draw.random() },
    ];
    const writes = Array.from({ length: 4 }, () => this.#make.writeSecret());
    const merged =
      this.#make.mix.has("Merge") && this.#draw.below(0.5)
        ? this.#merged()
        : { synced: [], rotated: writes };
    return [
      ...merged.synced,
      ...faults,
      ...merged.rotated,
      { type: "advance", ms: Math.floor(this.#draw.random() * 12_000) },
      { type: "suspend", replica },
      { type: "advance", ms: 20_000 + Math.floor(this.#draw.random() * 40_000) },
      { type: "resume", replica },
      { type: "advance", ms: Math.floor(this.#draw.random() * 5_000) },
      { type: "end-faults" },
    ];
  }

  /**
   * Returns the commands that bring keys of a resource into an object of a user, and the commands
   * that give these keys new versions.
   */
  #merged(): { readonly synced: Command[]; readonly rotated: Command[] } {
    const [vault, namespace, name] = [
      this.#draw.pick(VAULTS),
      this.#draw.pick(NAMESPACES),
      this.#draw.pick(RESOURCES),
    ];
    const place = { kind: "Secret", namespace, name } as const;
    const spec = this.#make.specs.resource("VaultSecret", name) as { readonly target: object };
    const resource = {
      type: "put",
      kind: "VaultSecret",
      namespace,
      name,
      spec: { ...spec, target: {} },
    } as const;
    const connection = this.#make.put("VaultConnection", namespace, "main");
    const rotated = written(vault, namespace);
    const synced: Command[] = [
      { type: "end-faults" },
      { type: "delete-target", ...place, how: 0 },
      { type: "add-foreign", ...place, how: 4 },
      ...rotated,
      ...followed(vault, [connection, resource], { creationPolicy: "Merge" }),
      // What follows is judged as a change of the vault only, when the specs are old enough.
      { type: "advance", ms: 120_000 },
    ];
    return { synced, rotated };
  }

  /** A target gets several names, faster than each can be in sync. */
  #renames(): Command[] {
    const [kind, namespace, name] = [
      this.#make.kind(),
      this.#draw.pick(NAMESPACES),
      this.#draw.pick(RESOURCES),
    ];
    if (kind === "VaultConnection") return [this.#make.put(kind, namespace)];
    const spec = this.#make.specs.resource(kind, name) as { readonly target: object };
    const fault: Command = {
      type: "api-fault",
      fault: this.#draw.pick(apiFaults),
      share: this.#make.share(),
    };
    const renamed = ["moved-1", "moved-2", "moved-3"].flatMap((target): Command[] => [
      {
        type: "put",
        kind,
        namespace,
        name,
        spec: { ...spec, target: { ...spec.target, name: target } },
      },
      { type: "advance", ms: Math.floor(this.#draw.random() ** 2 * 8_000) },
      ...(this.#draw.below(0.3) && this.#make.mix.has("apiFaults") ? [fault] : []),
      ...(this.#draw.below(0.2) ? [{ type: "crash", replica: this.#make.replica() } as const] : []),
    ]);
    return [
      ...renamed,
      { type: "end-faults" },
      { type: "start", replica: 0 },
      { type: "start", replica: 1 },
    ];
  }

  /** An object of a user exists before the resource that merges into it or adopts it. */
  #handOver(): Command[] {
    const [namespace, name] = [this.#draw.pick(NAMESPACES), this.#draw.pick(RESOURCES)];
    const kind = this.#draw.below(0.7) ? "VaultSecret" : "VaultFile";
    const place = { namespace, name };
    const spec = this.#make.specs.resource(kind, name) as {
      readonly target: { readonly kind?: "Secret" | "ConfigMap" };
    };
    const targetKind = spec.target.kind ?? "Secret";
    const [own, adopt]: Command[] = [
      { type: "put", kind, ...place, spec: { ...spec, target: { ...spec.target, name } } },
      {
        type: "annotate",
        kind: targetKind,
        ...place,
        annotations: { [ADOPT_ANNOTATION]: `${kind}/${name}` },
      },
    ] as const;
    const foreign: Command = {
      type: "add-foreign",
      kind: targetKind,
      ...place,
      how: Math.floor(this.#draw.random() * 5),
    };
    const confirmed: Command = {
      type: "annotate",
      kind: targetKind,
      ...place,
      annotations: { [CONFIRM_REMOVALS_ANNOTATION]: this.#draw.pick(["1", "1", "2"]) },
    };
    const isAdopted = this.#make.mix.has("adopt") && this.#draw.below(0.7);
    return [
      { type: "delete-target", kind: targetKind, ...place, how: 0 },
      foreign,
      ...this.#shuffled([
        own,
        ...(isAdopted ? [adopt, ...(this.#draw.below(0.4) ? [confirmed] : [])] : []),
      ]),
    ];
  }

  /** The policy of a target changes, and nothing else of the spec. */
  #policies(): Command[] {
    const { mix, specs } = this.#make;
    const [vault, namespace, name] = [
      this.#draw.pick(VAULTS),
      this.#draw.pick(NAMESPACES),
      this.#draw.pick(RESOURCES),
    ];
    const kind = this.#draw.below(0.7) ? "VaultSecret" : "VaultFile";
    const spec = specs.resource(kind, name) as { readonly target: object };
    const policies = (["Orphan", "Merge"] as const).filter((policy) => mix.has(policy));
    const { labels, annotations, immutable, type, ...merged } = spec.target as Readonly<
      Record<string, unknown>
    >;
    const withPolicy = (creationPolicy: string): Command => {
      const target =
        creationPolicy === "Merge"
          ? merged
          : { ...merged, ...defined({ labels, annotations, immutable, type }) };
      return {
        type: "put",
        kind,
        namespace,
        name,
        spec: { ...spec, target: { ...target, creationPolicy } },
      };
    };
    const changes = [
      "Owner",
      this.#draw.pick(policies),
      this.#draw.pick(["Owner", ...policies]),
    ].flatMap((policy) => [
      ...followed(vault, [withPolicy(policy)]),
      { type: "advance", ms: Math.floor(this.#draw.random() * 90_000) } as const,
    ]);
    return [
      { type: "end-faults" },
      ...written(vault, namespace),
      ...followed(vault, [this.#make.put("VaultConnection", namespace, "main")]),
      ...changes,
      ...(this.#draw.below(0.5) ? [{ type: "settle" } as const] : []),
    ];
  }

  /**
   * Many secrets disappear, and a user may confirm that. Another account may share secrets of the
   * same names, that stay.
   */
  #disappearance(): Command[] {
    const vault = this.#draw.pick(VAULTS);
    const namespace = this.#draw.pick(NAMESPACES);
    const isFollowed = this.#draw.below(0.7);
    const policy = this.#make.mix.has("whenMissing") ? { whenMissing: "Delete" } : {};
    const put = RESOURCES.map(() => this.#make.put("VaultSecret", namespace));
    const main = this.#make.put("VaultConnection", namespace, "main");
    const found = {
      type: "put",
      kind: "VaultSecret",
      namespace,
      name: this.#draw.pick(RESOURCES),
    } as const;
    const all: Command = { ...found, spec: { dataFrom: [{ find: { name: { regexp: "^m" } } }] } };
    const confirm: Command = {
      type: "confirm-removals",
      namespace,
      name: this.#draw.pick(CONNECTIONS),
      right: this.#draw.below(0.6),
    };
    const spared = this.#draw.below(0.3) ? CREATOR : undefined;
    const shared = MANY_NAMES.flatMap((name): Command[] => [
      { type: "write-secret", vault, owner: CREATOR, name },
      { type: "share", vault, name, to: accountOf(namespace) },
    ]);
    return [
      ...written(vault, namespace, MANY_NAMES),
      ...(spared === undefined ? [] : shared),
      ...(isFollowed ? followed(vault, [main, ...put, all], policy) : put),
      { type: "advance", ms: 10_000 + Math.floor(this.#draw.random() * 120_000) },
      ...(this.#draw.below(0.5) ? [{ type: "back-up", vault } as const] : []),
      { type: "vanish", vault, prefix: "m", ...defined({ spared }) },
      { type: "advance", ms: 10_000 + Math.floor(this.#draw.random() * 200_000) },
      ...(this.#draw.below(0.5) ? [confirm] : []),
      ...(this.#draw.below(0.3) ? [{ type: "restore", vault } as const] : []),
    ];
  }

  /**
   * Secrets are rotated, and resources are synced immediately, whether or not the vault responds.
   */
  #forcedSync(): Command[] {
    const [vault, namespace] = [this.#draw.pick(VAULTS), this.#draw.pick(NAMESPACES)];
    const isFollowed = this.#draw.below(0.7);
    const put = [
      this.#make.put("VaultConnection", namespace, "main"),
      this.#make.put("VaultSecret", namespace),
    ];
    const fault: Command = {
      type: "vault-fault",
      vault,
      fault: this.#draw.pick(vaultFaults),
      share: 1,
    };
    const synced: Command[] = [
      { type: "end-faults" },
      ...written(vault, namespace),
      ...followed(vault, put),
      { type: "advance", ms: 60_000 },
    ];
    return [
      ...(isFollowed ? synced : []),
      ...(this.#draw.below(0.5) ? [fault] : []),
      ...(isFollowed ? written(vault, namespace) : [this.#make.writeSecret()]),
      ...RESOURCES.map(() => this.#make.forceSync()),
      ...(isFollowed
        ? RESOURCES.map((one) =>
            this.#make.forceSync({ kind: "VaultSecret", namespace, name: one }),
          )
        : []),
      { type: "advance", ms: Math.floor(this.#draw.random() * 60_000) },
      { type: "end-faults" },
    ];
  }

  #shuffled<T>(all: readonly T[]): T[] {
    return this.#draw.below(0.5) ? [...all] : all.toReversed();
  }
}
