import {
  ACCEPT_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
  HOLD_ANNOTATION,
} from "../../src/operator/api/names.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import {
  CLUSTER_ACCOUNT,
  LATE_NAMESPACE,
  NAMESPACES,
  SYSTEM_NAMESPACE,
  urlOf,
  VAULTS,
} from "./cast.ts";
import type { Command } from "./commands.ts";
import type { FanOutCommand } from "./fan-out-commands.ts";
import type { FanOutKind } from "./fanned-out.ts";
import { FILE_NAMES, MANY_NAMES, SECRET_NAMES } from "./invariants/spec-items.ts";
import { CommandMaker } from "./random-command.ts";
import { Draw } from "./random-features.ts";
import { SpecMaker } from "./random-specs.ts";
import { restartOf } from "./sequences.ts";
import { randomRules } from "./simulated-rules.ts";

/**
 * Reports whether an episode has resources for several namespaces. No planted bug that was there
 * before them is looked for in such an episode first.
 */
export const hasFanOut = (seed: number): boolean => seed % 7 === 0;

/** Share of the commands that one of this file follows, and of the scenes among those. */
const SHARES = { commands: 0.11, scenes: 0.14 };
/** Names of the resources: some VaultSecrets have them too, and their targets. */
const NAMES = ["wide", "wide", "broad", "alpha", "beta"] as const;
const TEAMS = ["red", "blue"] as const;
const PLACES = [...NAMESPACES, LATE_NAMESPACE] as const;
/** Namespaces that a spec may name: one of them never exists. */
const NAMED = [...NAMESPACES, LATE_NAMESPACE, "never"] as const;
const CONNECTION = "main";

/**
 * Returns the commands with resources for several namespaces, with what makes them select others,
 * and with secrets that their connection reads. They have the features of the episode, and more.
 */
export function withFanOut(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0xfa40);
  const { mix } = new CommandMaker(new Draw(seededRandom(seed)));
  const draw = new Draw(random);
  const make = new FanOutMaker(draw, new Set([...mix, ...draw.features()]));
  const all = commands.flatMap((command) => [
    command,
    ...(random() < SHARES.commands ? make.commands() : []),
  ]);
  // The first commands make the connection.
  return all.toSpliced(NAMESPACES.length + 1, 0, ...make.start()).slice(0, commands.length);
}

type Target = Readonly<Record<string, unknown>>;

class FanOutMaker {
  readonly #draw: Draw;
  readonly #mix: CommandMaker["mix"];
  readonly #specs: SpecMaker;

  constructor(draw: Draw, mix: CommandMaker["mix"]) {
    this.#draw = draw;
    this.#mix = mix;
    this.#specs = new SpecMaker(draw, mix);
  }

  /** Returns what an episode starts with. */
  start(): Command[] {
    const { pick } = this.#specs;
    return [...this.#written(pick(VAULTS)), this.#put(), this.#put()];
  }

  /** Returns a random command, or several that reach together what single ones rarely do. */
  commands(): Command[] {
    return this.#draw.below(SHARES.scenes) ? this.#scene() : [this.#command()];
  }

  #command(): Command {
    const { pick } = this.#specs;
    const choices: readonly (readonly [number, () => Command])[] = [
      [15, () => this.#put()],
      [2, () => ({ type: "fan-out", how: "delete", ...this.#resource() })],
      [7, () => this.#write(pick(VAULTS))],
      [4, () => this.#label(pick(PLACES))],
      [2, () => ({ type: "create-namespace", namespace: LATE_NAMESPACE })],
      [1, () => ({ type: "delete-namespace", namespace: LATE_NAMESPACE })],
      [0.3, () => ({ type: "delete-namespace", namespace: pick(PLACES) })],
      [0.6, () => ({ type: "create-namespace", namespace: pick(PLACES) })],
      [2, () => this.#annotate(FORCE_SYNC_ANNOTATION, `${Math.floor(this.#draw.random() * 1e6)}`)],
      [this.#mix.has("accept") ? 2 : 0, () => this.#annotate(ACCEPT_ANNOTATION, this.#accepted())],
      [this.#mix.has("hold") ? 3 : 0, () => this.#annotate(HOLD_ANNOTATION, this.#hold())],
      [
        this.#mix.has("updates") ? 4 : 0,
        () => ({
          type: "fan-out",
          how: "approve",
          ...this.#resource(),
          right: this.#draw.below(0.9),
        }),
      ],
      [1, () => ({ type: "delete-target", ...this.#target(), how: 0 })],
      [1, () => ({ type: "add-foreign", ...this.#target(), how: pick([0, 1, 2]) })],
      [3, () => ({ type: "tamper", ...this.#target(), how: pick([0, 1, 2, 3, 4, 5]) })],
      [
        1,
        () => ({
          type: "strip",
          ...this.#target(),
          what: pick(["labels", "annotations", "both"] as const),
        }),
      ],
      [0.5, () => this.#control()],
      [1, () => ({ type: "confirm-removals", name: CONNECTION, right: this.#draw.below(0.7) })],
      [0.5, () => ({ type: "settle" })],
    ];
    return this.#draw.weighted(choices)();
  }

  #scene(): Command[] {
    const { pick } = this.#specs;
    return pick([
      () => this.#unselected(),
      () => this.#unselected(),
      () => this.#recreated(),
      () => this.#recreatedNamespace(),
      () => this.#disappearance(),
    ])();
  }

  /**
   * A resource has its targets. Then a namespace is selected no more, maybe while no process runs,
   * and maybe again later.
   */
  #unselected(): Command[] {
    const { pick, below } = this.#specs;
    const synced = this.#synced({ namespaceSelector: { matchLabels: { team: "red" } } });
    const namespace = pick(PLACES);
    const unlabel: Command = { type: "label", namespace, labels: pick([{}, { team: "blue" }]) };
    const restart = restartOf(0, 1, 2);
    const replaced: Command[] = [
      { type: "stop", replica: 0 },
      { type: "stop", replica: 1 },
      unlabel,
      ...restart,
    ];
    return [
      ...synced,
      ...(below(0.4) ? replaced : [unlabel]),
      ...(below(0.5) ? [this.#advance(90_000)] : []),
      this.#write(pick(VAULTS)),
      ...(below(0.3) ? restart : []),
      ...(below(0.5)
        ? [this.#advance(90_000), { type: "label", namespace, labels: { team: "red" } } as const]
        : []),
      ...(below(0.3) ? [{ type: "settle" } as const] : []),
    ];
  }

  /** A resource is created again, maybe before a watch shows that it was deleted. */
  #recreated(): Command[] {
    const { below } = this.#specs;
    const synced = this.#synced({ namespaces: this.#draw.some(NAMED) });
    const put = synced.find(isPut)!;
    const { kind, name } = put;
    const other = below(0.5) ? put : this.#put({ kind, name });
    const silent: Command[] = below(0.5) ? [{ type: "compact" }] : [];
    return [
      ...synced,
      ...(below(0.5) ? [{ type: "silence-watches" } as const] : []),
      { type: "fan-out", how: "delete", kind, name },
      ...(below(0.5) ? [this.#advance(20_000)] : []),
      other,
      ...silent,
      ...(below(0.5) ? [{ type: "drop-watches" } as const] : []),
    ];
  }

  /** A namespace with a target is created again. */
  #recreatedNamespace(): Command[] {
    const { below } = this.#specs;
    const namespace = LATE_NAMESPACE;
    const create: Command[] = [
      { type: "create-namespace", namespace },
      { type: "label", namespace, labels: { team: "red" } },
    ];
    return [
      ...create,
      ...this.#synced(
        below(0.5)
          ? { namespaces: [namespace] }
          : { namespaceSelector: { matchLabels: { team: "red" } } },
      ),
      { type: "delete-namespace", namespace },
      this.#advance(below(0.5) ? 5_000 : 60_000),
      ...create,
    ];
  }

  /** Many secrets disappear that targets in several namespaces have. */
  #disappearance(): Command[] {
    const { pick, below } = this.#specs;
    const vault = pick(VAULTS);
    const { kind, name } = { kind: "ClusterVaultSecret", name: pick(NAMES) } as const;
    const connectionRef = { kind: "ClusterVaultConnection", name: CONNECTION };
    const selection = { namespaces: this.#draw.some(NAMESPACES) };
    const target = below(0.7) ? { target: { whenMissing: "Delete" } } : {};
    const dataFrom = [{ find: { name: { regexp: "^m" } } }];
    const spec = { connectionRef, ...selection, dataFrom, ...target };
    return [
      { type: "end-faults" },
      ...MANY_NAMES.map((each): Command => ({
        type: "write-secret",
        vault,
        owner: CLUSTER_ACCOUNT,
        name: each,
      })),
      this.#connect(vault),
      { type: "fan-out", how: "put", kind, name, spec },
      this.#advance(120_000),
      ...(below(0.5) ? [{ type: "back-up", vault } as const] : []),
      { type: "vanish", vault, prefix: "m" },
      this.#advance(200_000),
      ...(below(0.4) ? restartOf(0, 1, 2) : []),
      ...(below(0.5)
        ? [{ type: "confirm-removals", name: CONNECTION, right: below(0.7) } as const]
        : []),
      ...(below(0.3) ? [{ type: "restore", vault } as const] : []),
    ];
  }

  /** A resource whose sources exist and that reads them everywhere. */
  #synced(selection: object): Command[] {
    const { pick } = this.#specs;
    const vault = pick(VAULTS);
    const put = this.#put();
    const spec = isPut(put) ? (put.spec as Target) : {};
    const { namespaces: _, namespaceSelector: _selector, ...others } = spec;
    const labels = PLACES.map((namespace): Command => ({
      type: "label",
      namespace,
      labels: { team: "red" },
    }));
    return [
      { type: "end-faults" },
      ...this.#written(vault),
      this.#connect(vault),
      ...labels,
      { ...put, spec: { ...others, ...selection } } as Command,
      this.#advance(120_000),
    ];
  }

  /** Lets the connection read everything of a vault for all namespaces. */
  #connect(vault: string): Command {
    const { pick } = this.#specs;
    const spec = {
      url: urlOf(vault),
      email: CLUSTER_ACCOUNT,
      auth: { passwordSecretRef: { name: "login", key: "password" } },
      refreshInterval: pick(["5s", "10s", "60s"]),
      access: [{ namespaceSelector: { matchLabels: {} }, secrets: ["*"], files: ["*"] }],
    };
    return { type: "put-cluster-connection", name: CONNECTION, spec };
  }

  #put(resource = this.#resource()): Command {
    const { kind } = resource;
    // A resource of this name restarts no workload.
    const made = this.#specs.resource(
      kind === "ClusterVaultFile" ? "VaultFile" : "VaultSecret",
      "gamma",
    ) as { readonly target?: Target };
    const { creationPolicy, ...target } = made.target ?? {};
    const policy =
      creationPolicy === undefined || creationPolicy === "Merge" ? {} : { creationPolicy };
    const spec = {
      ...made,
      ...this.#selection(),
      connectionRef: { kind: "ClusterVaultConnection", name: CONNECTION },
      target: {
        ...target,
        ...policy,
        ...(target["type"] === undefined && this.#draw.below(0.2) && this.#ruled()),
      },
    };
    return { type: "fan-out", how: "put", ...resource, spec };
  }

  /** Returns a template, and rules for its key. */
  #ruled(): object {
    const text = 'tmpl:{{ vars["k1"] | default: "none" }}|{{ vars["f1"] | default: "none" }}';
    const format = this.#draw.pick(["JSON", "YAML", "PEM", "URL", "Base64", "Integer"]);
    const rules = this.#draw.below(0.4) ? { format } : randomRules(this.#draw, false);
    return { template: { data: { t1: text } }, validate: { t1: rules } };
  }

  /** Returns names, a selector, or both. */
  #selection(): object {
    const { below } = this.#specs;
    const namespaces = { namespaces: this.#draw.some(NAMED) };
    if (below(0.35)) return namespaces;
    return { namespaceSelector: this.#selector(), ...(below(0.3) && namespaces) };
  }

  #selector(): object {
    const { pick, below } = this.#specs;
    const team = pick(TEAMS);
    if (below(0.6)) return { matchLabels: { team } };
    const values = [team];
    const requirement = pick([
      { operator: "In", values: [...TEAMS] },
      { operator: "In", values },
      { operator: "NotIn", values },
      { operator: "Exists" },
      { operator: "DoesNotExist" },
    ]);
    return { matchExpressions: [{ key: "team", ...requirement }] };
  }

  #resource(): { readonly kind: FanOutKind; readonly name: string } {
    const { pick } = this.#specs;
    const kind = pick(["ClusterVaultSecret", "ClusterVaultFile"] as const);
    return { kind, name: pick(NAMES) };
  }

  #annotate(annotation: string, value: string | null): Command {
    const annotations = { [annotation]: value };
    return { type: "fan-out", how: "annotate", ...this.#resource(), annotations };
  }

  #accepted(): string {
    return `${this.#specs.pick(SECRET_NAMES)}@${1 + Math.floor(this.#draw.random() * 4)}`;
  }

  #hold(): string | null {
    const { pick, below } = this.#specs;
    const versions = { [pick(["k1", "k2", "f1"])]: 1 + Math.floor(this.#draw.random() * 3) };
    return below(0.4) ? null : pick([JSON.stringify({ versions, by: "ann" }), "*", "not valid"]);
  }

  #label(namespace: string): Command {
    const { pick, below } = this.#specs;
    return { type: "label", namespace, labels: below(0.3) ? {} : { team: pick(TEAMS) } };
  }

  /** Writes what a connection of the cluster reads. */
  #written(vault: string): Command[] {
    return [
      ...SECRET_NAMES.map((name) => this.#writeSecret(vault, name)),
      ...FILE_NAMES.map((name): Command => ({
        type: "upload-file",
        vault,
        owner: CLUSTER_ACCOUNT,
        name,
      })),
    ];
  }

  #write(vault: string): Command {
    const { pick, below } = this.#specs;
    if (below(0.2))
      return { type: "upload-file", vault, owner: CLUSTER_ACCOUNT, name: pick(FILE_NAMES) };
    const many = this.#mix.has("many") && below(0.3);
    return this.#writeSecret(vault, pick(many ? MANY_NAMES : SECRET_NAMES));
  }

  #writeSecret(vault: string, name: string): Command {
    const owner = CLUSTER_ACCOUNT;
    return { type: "write-secret", vault, owner, name, ...this.#specs.value() };
  }

  #target() {
    const { pick, below } = this.#specs;
    return {
      kind: below(0.7) ? ("Secret" as const) : ("ConfigMap" as const),
      namespace: pick([...PLACES, SYSTEM_NAMESPACE]),
      name: pick(NAMES),
    };
  }

  #control(): Command {
    const target = this.#target();
    return { type: "control", ...target, controller: target.name, replace: this.#specs.below(0.3) };
  }

  #advance(mostMs: number): Command {
    return { type: "advance", ms: Math.floor(mostMs * (0.5 + this.#draw.random() / 2)) };
  }
}

const isPut = (command: Command): command is Extract<FanOutCommand, { how: "put" }> =>
  command.type === "fan-out" && command.how === "put";
