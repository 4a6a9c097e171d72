import type { Random } from "../../../src/lib/random.ts";
import type { OperatorFlags } from "../../../src/operator/config.ts";
import { seededRandom } from "../../lab/seeded-random.ts";
import { breakages } from "../broken-connections.ts";
import { apiFaults, vaultFaults } from "../networks.ts";
import { Draw } from "../random-features.ts";
import { CREATOR, NAMESPACES, VAULTS } from "../world.ts";
import { keyChanges, type PushCommand } from "./push-commands.ts";
import { inheritance, replacement } from "./push-sequences.ts";
import {
  CONNECTIONS,
  type Feature,
  FEATURES,
  KEYS,
  NAMES,
  PUSHES,
  RandomPushSpecs,
  SECRETS,
} from "./random-push-specs.ts";

/** Returns the random commands of an episode. Equal seeds give equal commands. */
export function pushCommandsOf(seed: number, count: number): PushCommand[] {
  const make = new PushCommandMaker(seededRandom(seed));
  const commands = make.start();
  while (commands.length < count) commands.push(...make.commands());
  return commands.slice(0, count);
}

class PushCommandMaker {
  readonly #draw: Draw;
  readonly #mix: ReadonlySet<Feature>;
  readonly #specs: RandomPushSpecs;

  constructor(random: Random) {
    this.#draw = new Draw(random);
    const share = this.#draw.pick([0.15, 0.35, 0.6]);
    this.#mix = new Set(FEATURES.filter(() => this.#draw.below(share)));
    this.#specs = new RandomPushSpecs(this.#draw, this.#mix);
  }

  start(): PushCommand[] {
    const flags: OperatorFlags = {
      ...(this.#has("rights") &&
        this.#draw.pick([
          { namespaces: [...NAMESPACES] },
          { namespacesFile: "/etc/vaultsync/namespaces" },
        ])),
      ...(this.#has("shards") && { shards: this.#draw.pick([2, 3]) }),
    };
    return [
      { type: "list-namespaces", namespaces: NAMESPACES },
      { type: "configure", flags },
      ...NAMESPACES.flatMap((namespace) =>
        CONNECTIONS.map((name) => this.#specs.connect(namespace, name)),
      ),
      ...NAMESPACES.flatMap((namespace) =>
        KEYS.map((key): PushCommand => ({
          type: "set-key",
          namespace,
          name: "source",
          key,
          change: "new",
        })),
      ),
      ...NAMESPACES.map((namespace) => this.#specs.put(namespace, "push")),
      { type: "advance", ms: 30_000 },
    ];
  }

  /** Returns a random command, or a sequence that single ones hardly make. */
  commands(): PushCommand[] {
    const kind = this.#draw.random();
    if (kind < 0.012) return this.#rotations();
    if (kind < 0.03) return this.#deletion();
    if (kind < 0.05) return this.#takeover();
    if (kind < 0.06) return this.#disposal();
    if (kind < 0.07) return replacement(this.#draw, this.#specs, () => this.#command());
    if (kind < 0.08) return inheritance(this.#draw, this.#specs, () => this.#command());
    return [this.#command()];
  }

  #has(feature: Feature): boolean {
    return this.#mix.has(feature);
  }

  #command(): PushCommand {
    const { random } = this.#draw;
    const namespace = this.#namespace();
    const choices: readonly (readonly [number, () => PushCommand])[] = [
      [38, () => this.#advance(Math.floor(random() ** 3 * 60_000))],
      [2, () => this.#advance(Math.floor(random() * 600_000))],
      [14, () => this.#setKey(namespace)],
      [1, () => ({ type: "delete-source", namespace, name: this.#draw.pick(SECRETS) })],
      [5, () => this.#specs.put(namespace, this.#draw.pick(PUSHES))],
      [2.5, () => ({ type: "delete-push", namespace, name: this.#draw.pick(PUSHES) })],
      [1, () => this.#force(namespace)],
      [
        this.#rate("others", 8),
        () => ({
          type: this.#draw.pick([
            "write-entry",
            "write-entry",
            "delete-entry",
            "recreate-entry",
          ] as const),
          ...this.#specs.entry(),
        }),
      ],
      [this.#rate("shares", 5), () => this.#share()],
      [this.#rate("edits", 3), () => this.#specs.connect(namespace, this.#draw.pick(CONNECTIONS))],
      [
        this.#rate("edits", 1),
        () => ({
          type: "delete",
          kind: "VaultConnection",
          namespace,
          name: this.#draw.pick(CONNECTIONS),
        }),
      ],
      [
        this.#rate("broken", 4),
        () => ({
          type: "break-connection",
          namespace,
          how: this.#draw.pick([...breakages, "repair", "repair"] as const),
        }),
      ],
      [
        this.#rate("rights", 3),
        () => ({ type: "rights", namespace, granted: this.#draw.below(0.6) }),
      ],
      [
        this.#rate("rights", 0.5),
        () => ({
          type: "list-namespaces",
          namespaces: this.#draw.pick([[...NAMESPACES], ["one"], ["two"]]),
        }),
      ],
      [
        this.#rate("vaultFaults", 4),
        () => ({
          type: "vault-fault",
          vault: this.#draw.pick(VAULTS),
          fault: this.#draw.pick(vaultFaults),
          share: this.#share01(),
        }),
      ],
      [
        this.#rate("apiFaults", 3),
        () => ({ type: "api-fault", fault: this.#draw.pick(apiFaults), share: this.#share01() }),
      ],
      [4, () => ({ type: "end-faults" })],
      [this.#rate("watches", 3), () => this.#watches()],
      [
        this.#rate("processes", 7),
        () => ({
          type: this.#draw.pick([
            "crash",
            "crash",
            "stop",
            "start",
            "start",
            "start",
            "suspend",
            "resume",
            "resume",
          ] as const),
          replica: this.#draw.pick([0, 1]),
        }),
      ],
      [this.#rate("processes", 0.2), () => ({ type: "delete-lease" })],
      [0.4, () => ({ type: "settle" })],
    ];
    return this.#draw.weighted(choices)();
  }

  #rate(feature: Feature, rate: number): number {
    return this.#has(feature) ? rate : 0;
  }

  #advance(ms: number): PushCommand {
    return { type: "advance", ms };
  }

  #share01(): number {
    return this.#draw.below(0.3) ? 1 : this.#draw.random();
  }

  #namespace(): (typeof NAMESPACES)[number] {
    return this.#draw.pick(NAMESPACES);
  }

  #setKey(namespace: string): PushCommand {
    const change = this.#draw.below(0.75) ? "new" : this.#draw.pick(keyChanges);
    const name = this.#draw.below(0.8) ? "source" : "spare";
    return { type: "set-key", namespace, name, key: this.#draw.pick(KEYS), change };
  }

  #watches(): PushCommand {
    const type = this.#draw.pick([
      "drop-watches",
      "silence-watches",
      "compact",
      "watch-lag",
    ] as const);
    return type === "watch-lag" ? { type, ms: Math.floor(this.#draw.random() * 5_000) } : { type };
  }

  #force(namespace: string): PushCommand {
    const value = `${Math.floor(this.#draw.random() * 1e6)}`;
    return { type: "force-push", namespace, name: this.#draw.pick(PUSHES), value };
  }

  #share(): PushCommand {
    const [namespace, name] = [this.#namespace(), this.#draw.pick(NAMES)];
    const vault = this.#has("edits") ? this.#draw.pick(VAULTS) : "a";
    const owner = this.#draw.below(0.7) ? CREATOR : this.#specs.account(namespace);
    const kind = this.#draw.random();
    if (kind < 0.3) return { type: "write-entry", vault, owner, kind: "secret", name };
    if (kind < 0.45) return { type: "unshare-entry", vault, owner, name };
    const to = this.#specs.account(
      this.#draw.pick(NAMESPACES.filter((one) => owner === CREATOR || one !== namespace)),
    );
    return {
      type: "share-entry",
      vault,
      owner,
      name,
      to,
      permission: this.#draw.below(0.75) ? "RW" : "R",
    };
  }

  /** A key changes more often than its entry may have versions. */
  #rotations(): PushCommand[] {
    const namespace = this.#namespace();
    const key = this.#draw.pick(KEYS);
    return Array.from({ length: 36 }, (): PushCommand[] => [
      { type: "set-key", namespace, name: "source", key, change: "new" },
      this.#advance(15_000 + Math.floor(this.#draw.random() * 60_000)),
    ]).flat();
  }

  /** A VaultPush is in sync, and is deleted while something else happens. */
  #deletion(): PushCommand[] {
    const [namespace, name] = [this.#namespace(), this.#draw.pick(PUSHES)];
    return [
      { type: "end-faults" },
      this.#specs.put(namespace, name, { deletionPolicy: "Delete", secret: { name: "source" } }),
      { type: "set-key", namespace, name: "source", key: "one", change: "new" },
      this.#advance(Math.floor(this.#draw.random() * 120_000)),
      ...(this.#draw.below(0.5) ? [this.#command()] : []),
      ...(this.#has("vaultFaults") && this.#draw.below(0.4)
        ? VAULTS.map((vault): PushCommand => ({
            type: "vault-fault",
            vault,
            fault: "html",
            share: 0.5,
          }))
        : []),
      { type: "delete-push", namespace, name },
      ...(this.#draw.below(0.5)
        ? [this.#advance(Math.floor(this.#draw.random() ** 2 * 30_000)), this.#command()]
        : []),
      ...(this.#draw.below(0.2)
        ? [this.#specs.put(namespace, name, { deletionPolicy: "Retain" })]
        : []),
      this.#advance(Math.floor(this.#draw.random() * 300_000)),
    ];
  }

  /** A namespace is emptied in any order, and filled again. */
  #disposal(): PushCommand[] {
    const namespace = this.#namespace();
    const pause = (): PushCommand => this.#advance(Math.floor(this.#draw.random() ** 3 * 400_000));
    const deletions: PushCommand[] = [
      ...CONNECTIONS.map((name): PushCommand => ({
        type: "delete",
        kind: "VaultConnection",
        namespace,
        name,
      })),
      ...SECRETS.map((name): PushCommand => ({ type: "delete-source", namespace, name })),
      ...PUSHES.map((name): PushCommand => ({ type: "delete-push", namespace, name })),
    ];
    return [
      { type: "end-faults" },
      this.#specs.put(namespace, "push", { deletionPolicy: "Delete", secret: { name: "source" } }),
      { type: "set-key", namespace, name: "source", key: "one", change: "new" },
      this.#advance(60_000),
      ...deletions
        .map((one) => ({ one, at: this.#draw.random() }))
        .toSorted((a, b) => a.at - b.at)
        .flatMap(({ one }) => [one, pause()]),
      ...(this.#draw.below(0.5) ? [this.#command()] : []),
      pause(),
      ...CONNECTIONS.map((name) => this.#specs.connect(namespace, name)),
      { type: "set-key", namespace, name: "source", key: "one", change: "new" },
      this.#specs.put(namespace, "push"),
    ];
  }

  /** Two VaultPushes have one entry, and the operator cannot see the older one after a restart. */
  #takeover(): PushCommand[] {
    const [older, younger] = this.#draw.below(0.5) ? NAMESPACES : NAMESPACES.toReversed();
    const data = [
      { secretKey: "one", remoteRef: { key: "p1", owner: this.#specs.account(older) } },
    ];
    const restart = [0, 1].flatMap((replica): PushCommand[] => [
      { type: "crash", replica },
      { type: "start", replica },
    ]);
    const put = (namespace: string, name: string): PushCommand =>
      this.#specs.put(namespace, name, {
        data,
        connectionRef: { name: "main" },
        secret: { name: "source" },
      });
    return [
      put(older, "push"),
      put(younger, this.#draw.pick(PUSHES)),
      this.#advance(60_000),
      ...(this.#has("rights")
        ? [{ type: "rights", namespace: older, granted: false } as const]
        : []),
      ...(this.#has("processes") || this.#has("rights") ? restart : []),
      this.#advance(60_000 + Math.floor(this.#draw.random() * 120_000)),
      this.#setKey(younger),
      ...(this.#draw.below(0.5)
        ? [{ type: "delete-push", namespace: younger, name: "push" } as const]
        : []),
      this.#advance(Math.floor(this.#draw.random() * 300_000)),
      ...(this.#has("rights")
        ? [{ type: "rights", namespace: older, granted: true } as const]
        : []),
    ];
  }
}
