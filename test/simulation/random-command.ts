import {
  ACCEPT_ANNOTATION,
  FORCE_SYNC_ANNOTATION,
  HOLD_ANNOTATION,
} from "../../src/operator/api/names.ts";
import type { Command } from "./commands.ts";
import { FILE_NAMES, MANY_NAMES, SECRET_NAMES } from "./invariants/spec-items.ts";
import { apiFaults, vaultFaults } from "./networks.ts";
import type { Draw, Feature } from "./random-features.ts";
import { RESOURCES, SpecMaker } from "./random-specs.ts";
import { accountOf, CREATOR, NAMESPACES, VAULTS } from "./world.ts";

export const CONNECTIONS = ["main", "other"] as const;

/** The items that a hold may name. */
const HELD_IDS = ["k1", "k2", "k3", "s1", "s2", "dataFrom[0]", "f1", "f2"] as const;

type Namespace = (typeof NAMESPACES)[number];

/** Makes single commands, with the features of an episode. */
export class CommandMaker {
  readonly #draw: Draw;
  readonly specs: SpecMaker;
  /** The vaults that have a secret, by its name: one may lack what the other has. */
  readonly #vaultsOf: ReadonlyMap<string, readonly string[]>;
  /** The vaults in which secrets get deadlines. */
  readonly withDeadlines: readonly string[];
  readonly mix: ReadonlySet<Feature>;
  readonly #secrets: readonly string[];

  constructor(draw: Draw) {
    this.#draw = draw;
    this.withDeadlines = draw.below(0.7) ? [draw.pick(VAULTS)] : [];
    this.mix = draw.features();
    this.#secrets = [...SECRET_NAMES, ...(this.mix.has("many") ? MANY_NAMES : [])];
    this.#vaultsOf = new Map(this.#secrets.map((name) => [name, draw.some(VAULTS)]));
    this.specs = new SpecMaker(draw, this.mix);
  }

  command(): Command {
    const choices: readonly (readonly [number, () => Command])[] = [
      [30, () => ({ type: "advance", ms: Math.floor(this.#draw.random() ** 3 * 30_000) })],
      [1, () => ({ type: "advance", ms: Math.floor(this.#draw.random() * 600_000) })],
      [14, () => this.writeSecret()],
      [
        3,
        () => ({
          type: "upload-file",
          ...this.place(),
          owner: this.#account(),
          name: this.#draw.pick(FILE_NAMES),
        }),
      ],
      [this.#rate("removals", 2), () => ({ type: "remove-entry", ...this.#entry() })],
      [this.#rate("removals", 2), () => ({ type: "remove-version", ...this.#entry() })],
      [
        3,
        () => ({
          type: "share",
          ...this.place(),
          name: this.#draw.pick(SECRET_NAMES),
          to: this.#account(),
        }),
      ],
      [
        this.#rate("removals", 2),
        () => ({
          type: "unshare",
          ...this.place(),
          name: this.#draw.pick(SECRET_NAMES),
          to: this.#account(),
        }),
      ],
      [
        this.#rate("removals", 1),
        () => ({ type: this.#draw.pick(["back-up", "restore"] as const), ...this.place() }),
      ],
      [
        1,
        () => ({
          type: "revoke-tokens",
          ...this.place(),
          account: this.#account(),
          refresh: this.#draw.random() < 0.3,
        }),
      ],
      [
        0.5,
        () => ({
          type: this.#draw.pick(["vault-password", "login-password"] as const),
          namespace: this.#draw.pick(NAMESPACES),
          right: this.#draw.below(0.7),
        }),
      ],
      [12, () => this.put()],
      [this.#rate("forceSync", 3), () => this.forceSync()],
      [this.#rate("accept", 3), () => this.#accept()],
      [this.#rate("hold", 4), () => this.#hold()],
      [this.#rate("freeze", 3), () => this.#freeze()],
      [
        this.#rate("updates", 8),
        () => ({ type: "approve", ...this.#resource(), right: this.#draw.below(0.9) }),
      ],
      [
        2,
        () => ({
          type: "delete",
          kind: this.kind(),
          namespace: this.#draw.pick(NAMESPACES),
          name: this.#draw.pick([...RESOURCES, ...CONNECTIONS]),
        }),
      ],
      [
        3,
        () => ({
          type: this.#draw.pick(["delete-target", "add-foreign"] as const),
          ...this.#target(),
          how: Math.floor(this.#draw.random() * (this.mix.has("Merge") ? 5 : 3)),
        }),
      ],
      [4, () => ({ type: "tamper", ...this.#target(), how: Math.floor(this.#draw.random() * 6) })],
      [0.3, () => ({ type: "delete-lease" })],
      [
        this.#rate("apiFaults", 4),
        () => ({ type: "api-fault", fault: this.#draw.pick(apiFaults), share: this.share() }),
      ],
      [
        3,
        () => ({
          type: "vault-fault",
          ...this.place(),
          fault: this.#draw.pick(vaultFaults),
          share: this.share(),
        }),
      ],
      [4, () => ({ type: "end-faults" })],
      [1, () => ({ type: "watch-lag", ms: Math.floor(this.#draw.random() ** 3 * 30_000) })],
      [
        1.5,
        () => ({ type: this.#draw.pick(["drop-watches", "drop-watches", "compact"] as const) }),
      ],
      [this.#rate("silence", 1), () => ({ type: "silence-watches" })],
      [
        2,
        () => ({
          type: this.#draw.pick([
            "crash",
            "stop",
            "start",
            "start",
            "suspend",
            "resume",
            "resume",
          ] as const),
          replica: this.replica(),
        }),
      ],
      [
        this.#rate("skews", 1),
        () => ({
          type: "skew",
          replica: this.replica(),
          ms: this.#draw.pick([0, 600_000, -600_000, 3_600_000, -3_600_000]),
        }),
      ],
      [0.4, () => ({ type: "settle" })],
    ];
    return this.#draw.weighted(choices)();
  }

  /** Returns the rate of a command: 0 in episodes without the feature. */
  #rate(feature: Feature, rate: number): number {
    return this.mix.has(feature) ? rate : 0;
  }

  /** @param deadlines share of the writes that set one, at most `minutes` later */
  writeSecret(
    entry: { owner: string; name: string } = this.#entry(),
    deadlines = { share: 0.1, minutes: 10 },
  ): Command {
    const { owner, name } = entry;
    const vault = this.#draw.pick(this.#vaultsOf.get(name)!);
    const hasDeadline = this.#draw.random() < deadlines.share && this.withDeadlines.includes(vault);
    const deadline = hasDeadline
      ? { minutes: 1 + Math.floor(this.#draw.random() * deadlines.minutes) }
      : {};
    return { type: "write-secret", vault, owner, name, ...deadline, ...this.specs.value() };
  }

  put(
    kind = this.kind(),
    namespace: Namespace = this.#draw.pick(NAMESPACES),
    connection: string = this.#draw.pick(CONNECTIONS),
  ): Command {
    if (kind === "VaultConnection")
      return {
        type: "put",
        kind,
        namespace,
        name: connection,
        spec: this.specs.connection(namespace),
      };
    const name = this.#draw.pick(RESOURCES);
    return { type: "put", kind, namespace, name, spec: this.specs.resource(kind, name) };
  }

  forceSync(resource = this.#resource()): Command {
    return {
      type: "annotate",
      ...resource,
      annotations: { [FORCE_SYNC_ANNOTATION]: `${Math.floor(this.#draw.random() * 1e6)}` },
    };
  }

  #accept(): Command {
    const version = 1 + Math.floor(this.#draw.random() * 4);
    return {
      type: "annotate",
      ...this.#resource(),
      annotations: { [ACCEPT_ANNOTATION]: `${this.#draw.pick(this.#secrets)}@${version}` },
    };
  }

  /** Holds a resource, changes or ends its hold. */
  #hold(): Command {
    const ids = this.#draw
      .some(HELD_IDS)
      .map((id) => [id, 1 + Math.floor(this.#draw.random() * 3)]);
    const texts = [
      JSON.stringify({ versions: Object.fromEntries(ids), by: "ann", reason: "a bad value" }),
      "*",
      "not valid",
    ];
    const hold = this.#draw.below(0.4) ? null : this.#draw.pick([texts[0]!, ...texts]);
    return { type: "annotate", ...this.#resource(), annotations: { [HOLD_ANNOTATION]: hold } };
  }

  /** Freezes the cluster or a namespace, changes or ends that. */
  #freeze(): Command {
    const minutes = this.#draw.below(0.1) ? "invalid" : this.#draw.pick([0, 1, 3, 8, 20]);
    const namespace = this.#draw.pick(NAMESPACES);
    if (this.#draw.below(0.4))
      return {
        type: "freeze-namespace",
        namespace,
        minutes: this.#draw.below(0.3) ? null : minutes,
      };
    if (this.#draw.below(0.25)) return { type: "unfreeze" };
    const selectors = [
      { matchLabels: { team: "red" } },
      { matchExpressions: [{ key: "team", operator: "NotIn", values: ["red"] }] },
    ];
    const selector = this.#draw.below(0.3) ? { selector: this.#draw.pick(selectors) } : {};
    return { type: "freeze", minutes, ...selector };
  }

  #resource() {
    const kind = this.#draw.pick(["VaultSecret", "VaultSecret", "VaultFile"] as const);
    return { kind, namespace: this.#draw.pick(NAMESPACES), name: this.#draw.pick(RESOURCES) };
  }

  #entry(): { readonly vault: string; readonly owner: string; readonly name: string } {
    return {
      ...this.place(),
      owner: this.#draw.random() < 0.3 ? CREATOR : this.#account(),
      name: this.#draw.pick(this.#secrets),
    };
  }

  place(): { readonly vault: string } {
    return { vault: this.#draw.pick(VAULTS) };
  }

  #target(): {
    readonly kind: "Secret" | "ConfigMap";
    readonly namespace: string;
    readonly name: string;
  } {
    return {
      kind: this.#draw.random() < 0.8 ? "Secret" : "ConfigMap",
      namespace: this.#draw.pick(NAMESPACES),
      name: this.#draw.pick([...RESOURCES, "shared-target"]),
    };
  }

  kind(): "VaultSecret" | "VaultFile" | "VaultConnection" {
    return this.#draw.pick(["VaultSecret", "VaultSecret", "VaultFile", "VaultConnection"] as const);
  }

  #account(): string {
    return accountOf(this.#draw.pick(NAMESPACES));
  }

  replica(): number {
    return this.#draw.random() < 0.5 ? 0 : 1;
  }

  share(): number {
    return this.#draw.random() < 0.3 ? 1 : this.#draw.random();
  }
}
