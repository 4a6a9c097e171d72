import { defined } from "../../src/operator/lib/defined.ts";
import { FORCE_SYNC_ANNOTATION, HOLD_ANNOTATION } from "../../src/operator/api/names.ts";
import type { Command } from "./commands.ts";
import { CHANGE_NAMES } from "./invariants/spec-items.ts";
import { type VaultFault, vaultFaults } from "./networks.ts";
import type { CommandMaker } from "./random-command.ts";
import type { Draw, Feature } from "./random-features.ts";
import { accountOf, CREATOR, NAMESPACES, urlOf, VAULTS } from "./world.ts";

type Namespace = (typeof NAMESPACES)[number];

/**
 * Secrets of the account, one that only the creator has and shares, one that loses its latest
 * version, and one that gets deadlines. Nothing else explains what becomes of them.
 */
const [STEADY, OTHER, RECEIVED, REGRESSING, EXPIRING] = CHANGE_NAMES;
/** The resource of these sequences. */
const RESOURCE = "delta";

const data = (...names: readonly string[]): object => ({
  data: names.map((key, index) => ({ secretKey: `k${index + 1}`, remoteRef: { key } })),
});

const templated = (text: string): object => ({
  ...data(STEADY),
  target: { template: { data: { t1: `${text}:{{ vars["k1"] }}` } } },
});

const labeled = (team: string): object => ({ ...data(STEADY), target: { labels: { team } } });

/** Faults in which a vault responds with no list: every forced sync fails. */
const lostLists: readonly VaultFault[] = vaultFaults.filter(
  (fault) => fault !== "old-list" && fault !== "slow",
);

interface Scene {
  readonly vault: string;
  readonly namespace: Namespace;
}

/**
 * Makes sequences in which a resource is in sync, and then a single thing changes: random specs
 * differ in many fields, each of which hides that the operator ignores another one.
 */
export class SingleChanges {
  readonly #draw: Draw;
  readonly #make: CommandMaker;
  /** The sequences, each with the feature that an episode has if it has them. */
  readonly scenes: readonly (readonly [Feature, () => Command[]])[] = [
    ["template", () => this.#otherTemplate()],
    ["template", () => this.#expiredVariable()],
    ["metadata", () => this.#otherLabels()],
    ["findMetadata", () => this.#foundByMetadata()],
    ["trustedOwners", () => this.#stranger()],
    ["trustedOwners", () => this.#otherTrust()],
    ["whenMissing", () => this.#namesake()],
    ["findMetadata", () => this.#reclassified()],
    ["accept", () => this.#lowerVersion()],
    ["hold", () => this.#held()],
    ["freeze", () => this.#frozen()],
    ["updates", () => this.#awaited()],
    ["forceSync", () => this.#failedList()],
  ];

  constructor(draw: Draw, make: CommandMaker) {
    this.#draw = draw;
    this.#make = make;
  }

  #otherTemplate(): Command[] {
    const scene = this.#scene();
    return [
      ...this.#synced(scene, templated("one")),
      this.#resource(scene, templated("two")),
      { type: "settle" },
    ];
  }

  /** A source of a template reaches its deadline. Without the source nothing can be rendered. */
  #expiredVariable(): Command[] {
    const scene = this.#scene();
    const spec = {
      ...data(EXPIRING, STEADY),
      target: { template: { data: { t1: `{{ vars["k1"] }}{{ vars["k2"] }}` } } },
    };
    return [
      this.#write(scene, EXPIRING),
      ...this.#synced(scene, spec),
      { type: "settle" },
      this.#write(scene, EXPIRING, { minutes: 3 }),
      { type: "advance", ms: 420_000 },
    ];
  }

  #otherLabels(): Command[] {
    const scene = this.#scene();
    return [
      ...this.#synced(scene, labeled("red")),
      this.#resource(scene, labeled("blue")),
      { type: "settle" },
    ];
  }

  /** One of two secrets has the metadata of a rule. */
  #foundByMetadata(): Command[] {
    const scene = this.#scene();
    const [found, other] = this.#draw.below(0.5) ? ["prod", "test"] : ["test", "prod"];
    const find = { name: { regexp: "^r[12]$" }, metadata: { environment_type: "prod" } };
    return [
      this.#write(scene, STEADY, { metadata: { environment_type: found } }),
      this.#write(scene, OTHER, { metadata: { environment_type: other } }),
      ...this.#synced(scene, { dataFrom: [{ find }] }),
    ];
  }

  /** A creator whom the connection does not name shares a secret. */
  #stranger(): Command[] {
    const scene = this.#scene();
    const { vault, namespace } = scene;
    const strict = { trustedOwners: undefined, receive: undefined };
    return [
      { type: "write-secret", vault, owner: CREATOR, name: RECEIVED },
      { type: "share", vault, name: RECEIVED, to: accountOf(namespace) },
      ...this.#synced(scene, data(STEADY, RECEIVED), strict),
      { type: "settle" },
    ];
  }

  /** A secret disappears while a creator whom the connection does not name shares one like it. */
  #namesake(): Command[] {
    const scene = this.#scene();
    const { vault, namespace } = scene;
    const strict = { trustedOwners: undefined, receive: undefined };
    const metadata = { environment_type: "prod" };
    const isFound = this.#draw.below(0.5);
    const find = { name: { regexp: `^${OTHER}$` }, ...(this.#draw.below(0.5) && { metadata }) };
    const spec = isFound ? { ...data(STEADY), dataFrom: [{ find }] } : data(STEADY, OTHER);
    return [
      { type: "write-secret", vault, owner: CREATOR, name: OTHER, metadata },
      { type: "share", vault, name: OTHER, to: accountOf(namespace) },
      this.#write(scene, OTHER, { metadata }),
      ...this.#synced(scene, { ...spec, target: { whenMissing: "Delete" } }, strict),
      { type: "remove-entry", vault, owner: accountOf(namespace), name: OTHER },
      // Until its absence is proven.
      { type: "advance", ms: 420_000 },
      { type: "settle" },
      { type: "advance", ms: 420_000 },
    ];
  }

  /** A connection stops trusting a creator, whose secret may be gone when it trusts again. */
  #otherTrust(): Command[] {
    const scene = this.#scene();
    const { vault, namespace } = scene;
    const shared = { vault, name: RECEIVED, to: accountOf(namespace) };
    const whenMissing = this.#draw.pick(["Delete", "Retain"]);
    const trusting = this.#connection(scene, { trustedOwners: [CREATOR] });
    const strict = this.#connection(scene, { trustedOwners: undefined, receive: undefined });
    return [
      { type: "write-secret", vault, owner: CREATOR, name: RECEIVED },
      { type: "share", ...shared },
      ...this.#synced(scene, { ...data(STEADY, RECEIVED), target: { whenMissing } }),
      trusting,
      { type: "advance", ms: 60_000 },
      strict,
      { type: "advance", ms: Math.floor(this.#draw.random() * 420_000) },
      ...(this.#draw.below(0.5) ? [{ type: "unshare", ...shared } as const] : []),
      { type: "advance", ms: Math.floor(this.#draw.random() * 420_000) },
      trusting,
      { type: "settle" },
      { type: "share", ...shared },
      { type: "settle" },
    ];
  }

  /** A secret loses the metadata of its rule for some time. */
  #reclassified(): Command[] {
    const scene = this.#scene();
    const whenMissing = this.#draw.pick(["Delete", "Retain"]);
    const metadata = { environment_type: "prod" };
    const spec = {
      dataFrom: [{ find: { name: { regexp: "^r[12]$" }, metadata } }],
      target: { whenMissing },
    };
    return [
      this.#write(scene, OTHER, { metadata }),
      ...this.#synced(scene, spec),
      this.#write(scene, STEADY, { metadata }),
      { type: "advance", ms: 120_000 },
      this.#write(scene, OTHER, { metadata: { environment_type: "test" } }),
      { type: "advance", ms: Math.floor(this.#draw.random() * 420_000) },
      ...(this.#draw.below(0.5) ? [this.#write(scene, OTHER, { metadata })] : []),
      { type: "settle" },
      { type: "advance", ms: 420_000 },
    ];
  }

  /** The latest version disappears. No user accepts that. */
  #lowerVersion(): Command[] {
    const scene = this.#scene();
    const { vault, namespace } = scene;
    return [
      this.#write(scene, REGRESSING),
      this.#write(scene, REGRESSING),
      ...this.#synced(scene, data(REGRESSING)),
      { type: "advance", ms: 120_000 },
      { type: "remove-version", vault, owner: accountOf(namespace), name: REGRESSING },
      { type: "advance", ms: 120_000 },
    ];
  }

  /** A user goes back to the first version, or keeps the present one, and follows again later. */
  #held(): Command[] {
    const scene = this.#scene();
    const hold = this.#draw.pick(['{"versions": {"k1": 1}}', "*"]);
    return [
      ...this.#synced(scene, data(STEADY)),
      this.#write(scene, STEADY),
      { type: "advance", ms: 120_000 },
      this.#hold(scene, hold),
      { type: "advance", ms: 120_000 },
      this.#write(scene, STEADY),
      { type: "advance", ms: 60_000 + Math.floor(this.#draw.random() * 60_000) },
      ...(this.#draw.below(0.5) ? [this.#hold(scene, null)] : []),
      { type: "settle" },
    ];
  }

  /** A freeze begins before a new version, and ends by itself or not. */
  #frozen(): Command[] {
    const scene = this.#scene();
    const { namespace } = scene;
    const minutes = 6;
    const freeze: Command = this.#draw.below(0.5)
      ? { type: "freeze", minutes }
      : { type: "freeze-namespace", namespace, minutes };
    const replica = this.#draw.pick([0, 1]);
    return [
      { type: "unfreeze" },
      { type: "freeze-namespace", namespace, minutes: null },
      ...this.#synced(scene, data(STEADY, OTHER)),
      this.#write(scene, OTHER),
      { type: "advance", ms: 120_000 },
      freeze,
      { type: "advance", ms: 100_000 + Math.floor(this.#draw.random() * 60_000) },
      this.#write(scene, STEADY),
      ...(this.#draw.below(0.4) ? [{ type: "crash", replica } as const] : []),
      this.#write(scene, OTHER),
      { type: "advance", ms: 30_000 + Math.floor(this.#draw.random() * 90_000) },
      { type: "start", replica },
      ...(this.#draw.below(0.5) ? [{ type: "settle" } as const] : []),
    ];
  }

  /** New versions wait for an approval, and even newer ones for the next. */
  #awaited(): Command[] {
    const scene = this.#scene();
    const { namespace } = scene;
    const approve = (right: boolean): Command => {
      return { type: "approve", kind: "VaultSecret", namespace, name: RESOURCE, right };
    };
    const spec = { ...data(STEADY, OTHER), updates: { approval: "Required" } };
    const replica = this.#draw.pick([0, 1]);
    return [
      this.#write(scene, OTHER),
      ...this.#synced(scene, spec),
      { type: "advance", ms: 120_000 },
      this.#write(scene, STEADY),
      this.#write(scene, OTHER),
      { type: "advance", ms: 120_000 },
      ...(this.#draw.below(0.3) ? [{ type: "crash", replica } as const] : []),
      approve(this.#draw.below(0.8)),
      { type: "start", replica },
      { type: "advance", ms: Math.floor(this.#draw.random() * 20_000) },
      this.#write(scene, STEADY),
      { type: "advance", ms: 120_000 },
      ...(this.#draw.below(0.5) ? [approve(true)] : []),
      { type: "settle" },
    ];
  }

  #hold({ namespace }: Scene, hold: string | null): Command {
    const annotations = { [HOLD_ANNOTATION]: hold };
    return { type: "annotate", kind: "VaultSecret", namespace, name: RESOURCE, annotations };
  }

  /** A sync is forced after a change that no list shows. */
  #failedList(): Command[] {
    const scene = this.#scene();
    const { vault, namespace } = scene;
    const annotations = { [FORCE_SYNC_ANNOTATION]: `${Math.floor(this.#draw.random() * 1e6)}` };
    return [
      ...this.#synced(scene, data(STEADY)),
      { type: "vault-fault", vault, fault: this.#draw.pick(lostLists), share: 1 },
      this.#write(scene, STEADY),
      { type: "annotate", kind: "VaultSecret", namespace, name: RESOURCE, annotations },
      { type: "advance", ms: 12_000 + Math.floor(this.#draw.random() * 30_000) },
      { type: "end-faults" },
    ];
  }

  #scene(): Scene {
    return { vault: this.#draw.pick(VAULTS), namespace: this.#draw.pick(NAMESPACES) };
  }

  #write({ vault, namespace }: Scene, name: string, options: object = {}): Command {
    return { type: "write-secret", vault, owner: accountOf(namespace), name, ...options };
  }

  #resource({ namespace }: Scene, spec: object): Command {
    const all = { connectionRef: { name: "main" }, ...spec };
    return { type: "put", kind: "VaultSecret", namespace, name: RESOURCE, spec: all };
  }

  #connection({ vault, namespace }: Scene, changes: object): Command {
    const random = this.#make.specs.connection(namespace);
    const spec = defined({ ...random, url: urlOf(vault), scope: undefined, ...changes });
    return { type: "put", kind: "VaultConnection", namespace, name: "main", spec };
  }

  /** Returns commands after which the resource is in sync with this vault. */
  #synced(scene: Scene, spec: object, connection: object = {}): Command[] {
    return [
      { type: "end-faults" },
      this.#write(scene, STEADY),
      this.#connection(scene, connection),
      this.#resource(scene, spec),
      { type: "advance", ms: 60_000 + Math.floor(this.#draw.random() * 60_000) },
    ];
  }
}
