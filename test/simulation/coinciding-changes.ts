import type { Random } from "../../src/lib/random.ts";
import { HOLD_ANNOTATION } from "../../src/operator/api/names.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import type { Command } from "./commands.ts";
import { CHANGE_NAMES, MANY_NAMES } from "./invariants/spec-items.ts";
import { restartOf, withSequence } from "./sequences.ts";
import { accountOf, CLUSTER_ACCOUNT, NAMESPACES, urlOf, VAULTS } from "./world.ts";

/** Share of the episodes with one of these sequences. */
const SHARE = 0.35;
/** The resource of these sequences. */
const RESOURCE = "delta";
/** Names that rules of these sequences find. */
const FOUND = CHANGE_NAMES.slice(0, 3);
const FIND = { name: { regexp: "^r[1-3]$" } };

const RESTART = restartOf(0, 1);

/** Replacements that make keys of the names: distinct ones, or one of two names. */
const REWRITES = {
  distinct: [
    undefined,
    [{ regexp: { source: "^r", target: "x" } }],
    [{ regexp: { source: "^r(.)$", target: "$1-r" } }],
  ],
  colliding: [
    [{ regexp: { source: "^r[12]$", target: "one" } }],
    [{ regexp: { source: "^r.$", target: "all" } }],
    // The key of another name.
    [{ regexp: { source: "^r1$", target: "r2" } }],
  ],
} as const;

type Rewrite = readonly object[] | undefined;

/** Draws the parts of one sequence in a namespace and a vault. */
export class Scene {
  readonly random: Random;
  readonly namespace: (typeof NAMESPACES)[number];
  readonly vault: (typeof VAULTS)[number];

  constructor(
    random: Random,
    vault?: (typeof VAULTS)[number],
    namespace?: (typeof NAMESPACES)[number],
  ) {
    this.random = random;
    this.namespace = namespace ?? this.pick(NAMESPACES);
    this.vault = vault ?? this.pick(VAULTS);
  }

  readonly pick = <T>(from: readonly T[]): T => from[Math.floor(this.random() * from.length)]!;
  readonly below = (share: number): boolean => this.random() < share;
  /** Returns the commands with a probability. */
  maybe(share: number, ...commands: readonly Command[]): readonly Command[] {
    return this.below(share) ? commands : [];
  }

  advance(ms: number): Command {
    return { type: "advance", ms: Math.floor(ms) };
  }

  get owner(): string {
    return accountOf(this.namespace);
  }

  write(name: string, options: object = {}): Command {
    return { type: "write-secret", vault: this.vault, owner: this.owner, name, ...options };
  }

  remove(name: string): Command {
    return { type: "remove-entry", vault: this.vault, owner: this.owner, name };
  }

  connection(changes: object = {}): Command {
    const spec = {
      url: urlOf(this.vault),
      email: this.owner,
      auth: { passwordSecretRef: { name: "login" } },
      refreshInterval: this.pick(["5s", "60s"]),
      follow: this.pick(["Auto", "Interval"]),
      ...changes,
    };
    return { type: "put", kind: "VaultConnection", namespace: this.namespace, name: "main", spec };
  }

  resource(spec: object, name = RESOURCE): Command {
    const all = { connectionRef: { name: "main" }, ...spec };
    return { type: "put", kind: "VaultSecret", namespace: this.namespace, name, spec: all };
  }

  annotate(annotations: Readonly<Record<string, string | null>>): Command {
    const { namespace } = this;
    return { type: "annotate", kind: "VaultSecret", namespace, name: RESOURCE, annotations };
  }
}

/** Returns a rule that finds the names. */
const found = (rewrite: Rewrite): object => ({ find: FIND, ...(rewrite && { rewrite }) });

type Sequence = (scene: Scene) => Command[];

/**
 * A rule makes one key of two names: of the beginning, when another name appears, or because of an
 * edit. One of the names may be gone then, or go later.
 */
const oneKey: Sequence = (scene) => {
  const whenMissing = scene.pick(["Delete", "Retain"]);
  const rule = (rewrite: Rewrite): Command =>
    scene.resource({ dataFrom: [found(rewrite)], target: { whenMissing } });
  const [first, second] = scene.pick([
    [FOUND[0], FOUND[1]],
    [FOUND[1], FOUND[0]],
  ]);
  const colliding = scene.pick(REWRITES.colliding);
  const isEdited = scene.below(0.5);
  return [
    { type: "end-faults" },
    scene.connection(),
    scene.write(first!),
    ...scene.maybe(isEdited ? 1 : 0.3, scene.write(second!)),
    ...scene.maybe(0.5, scene.write(FOUND[2]!)),
    rule(isEdited ? scene.pick(REWRITES.distinct) : colliding),
    scene.advance(90_000),
    scene.write(second!),
    scene.advance(scene.random() * 90_000),
    ...scene.maybe(0.6, scene.remove(isEdited ? scene.pick([first!, second!]) : first!)),
    scene.advance(scene.random() * 420_000),
    ...(isEdited ? [rule(colliding)] : []),
    ...scene.maybe(0.3, ...RESTART),
    scene.advance(scene.random() * 90_000),
    ...scene.maybe(0.5, scene.remove(scene.pick([first!, second!]))),
    scene.advance(420_000),
  ];
};

/**
 * One edit gives a target another name, and its keys other names. A source may be gone, or its
 * value may not be read.
 */
const renamedKeys: Sequence = (scene) => {
  const whenMissing = scene.pick(["Delete", "Retain"]);
  const creationPolicy = scene.pick(["Owner", "Owner", "Orphan"]);
  const rewrites = [...REWRITES.distinct, ...REWRITES.colliding];
  const rule = (name: string, rewrite: Rewrite): Command =>
    scene.resource({
      dataFrom: [found(rewrite)],
      target: { name, whenMissing, creationPolicy },
    });
  const gone = scene.pick(FOUND);
  return [
    { type: "end-faults" },
    scene.connection(),
    ...FOUND.map((name) => scene.write(name)),
    rule("moved-1", scene.pick(REWRITES.distinct)),
    scene.advance(90_000),
    ...scene.maybe(0.7, scene.remove(gone)),
    scene.advance(scene.random() ** 2 * 420_000),
    ...scene.maybe(0.2, {
      type: "vault-fault",
      vault: scene.vault,
      fault: "500",
      share: scene.random(),
    }),
    rule("moved-2", scene.pick(rewrites)),
    ...scene.maybe(0.3, ...RESTART),
    scene.advance(scene.random() * 200_000),
    ...scene.maybe(0.3, rule("moved-3", scene.pick(rewrites))),
    { type: "end-faults" },
    scene.advance(scene.random() * 200_000),
    ...scene.maybe(0.3, scene.write(gone)),
    scene.advance(420_000),
  ];
};

/** A user edits the target of a resource that is held or frozen, and its connection moves. */
const editedWhileHeld: Sequence = (scene) => {
  const { namespace } = scene;
  const data = FOUND.slice(0, 2).map((key, at) => ({
    secretKey: `k${at + 1}`,
    remoteRef: { key },
  }));
  const other = VAULTS.find((vault) => vault !== scene.vault)!;
  const inOther = FOUND.slice(0, 2).filter(() => scene.below(0.6));
  const begin: Command[] = scene.pick([
    [scene.annotate({ [HOLD_ANNOTATION]: "*" })],
    [scene.annotate({ [HOLD_ANNOTATION]: '{"versions": {"k1": 1}}' })],
    [{ type: "freeze-namespace", namespace, minutes: 20 }],
    [{ type: "freeze", minutes: 20 }],
  ]);
  const tamper: Command = {
    type: "tamper",
    kind: "Secret",
    namespace,
    name: RESOURCE,
    how: Math.floor(scene.random() * 6),
  };
  const move = scene.connection({ url: urlOf(other) });
  return [
    { type: "end-faults" },
    { type: "unfreeze" },
    { type: "freeze-namespace", namespace, minutes: null },
    scene.connection(),
    ...FOUND.slice(0, 2).flatMap((name) => [scene.write(name), scene.write(name)]),
    ...inOther.map((name) => ({ ...scene.write(name), vault: other }) as Command),
    scene.resource({ data, target: { whenMissing: scene.pick(["Delete", "Retain"]) } }),
    scene.advance(90_000),
    ...begin,
    scene.advance(60_000 + scene.random() * 60_000),
    ...(scene.below(0.5) ? [tamper, move] : [move, scene.advance(60_000), tamper]),
    scene.advance(scene.random() * 120_000),
    ...scene.maybe(0.3, ...RESTART),
    scene.advance(scene.random() * 120_000),
    ...scene.maybe(0.3, scene.connection()),
    scene.advance(120_000),
    scene.annotate({ [HOLD_ANNOTATION]: null }),
    { type: "unfreeze" },
    { type: "freeze-namespace", namespace, minutes: null },
    scene.advance(120_000),
  ];
};

/**
 * Many secrets reach their deadlines together, in a resource that keeps them and one that does not.
 * One of them may not be followed until then: it is suspended, or its namespace has no access.
 */
const manyDeadlines: Sequence = (scene) => {
  const { namespace, vault } = scene;
  const isOfCluster = scene.below(0.5);
  const owner = isOfCluster ? CLUSTER_ACCOUNT : scene.owner;
  const connectionRef = isOfCluster
    ? { kind: "ClusterVaultConnection", name: "main" }
    : { name: "main" };
  const data = MANY_NAMES.map((key) => ({ secretKey: key, remoteRef: { key } }));
  const whenMissing = scene.pick(["Delete", "Retain"]);
  const following = (whenRemoved: string, name: string, suspend: boolean): Command =>
    scene.resource({ connectionRef, data, suspend, target: { whenRemoved, whenMissing } }, name);
  const both = (suspended: string | undefined): Command[] => [
    following("Retain", "delta", suspended === "delta"),
    following("Delete", "epsilon", suspended === "epsilon"),
  ];
  const cluster = clusterConnection(scene);
  const labels = (team: string): Command => ({ type: "label", namespace, labels: { team } });
  const suspended = scene.pick(["delta", "epsilon"]);
  const write = (name: string, minutes?: number): Command => ({
    type: "write-secret",
    vault,
    owner,
    name,
    ...(minutes !== undefined && { minutes }),
  });
  return [
    { type: "end-faults" },
    ...(isOfCluster ? [cluster, labels("red")] : [scene.connection()]),
    ...MANY_NAMES.map((name) => write(name)),
    ...both(undefined),
    scene.advance(90_000),
    ...MANY_NAMES.filter(() => scene.below(0.9)).map((name) => write(name, 6)),
    scene.advance(scene.random() * 180_000),
    ...(isOfCluster && scene.below(0.6) ? [labels("blue")] : both(suspended)),
    scene.advance(scene.random() * 400_000),
    ...scene.maybe(0.3, ...RESTART),
    ...(isOfCluster ? [labels("red")] : []),
    ...both(undefined),
    scene.advance(420_000),
  ];
};

const clusterConnection = ({ vault, pick }: Scene): Command => ({
  type: "put-cluster-connection",
  name: "main",
  spec: {
    url: urlOf(vault),
    email: CLUSTER_ACCOUNT,
    auth: { passwordSecretRef: { name: "login", key: "password" } },
    refreshInterval: pick(["5s", "60s"]),
    access: [{ namespaceSelector: { matchLabels: { team: "red" } }, secrets: ["*"], files: ["*"] }],
  },
});

/** Many secrets of the account of the cluster disappear, and a user may confirm that. */
const clusterLoss: Sequence = (scene) => {
  const { vault } = scene;
  const find = { name: { regexp: "^m" } };
  const connectionRef = { kind: "ClusterVaultConnection", name: "main" };
  const put = (namespace: string): Command => ({
    type: "put",
    kind: "VaultSecret",
    namespace,
    name: RESOURCE,
    spec: { connectionRef, dataFrom: [{ find }], target: { whenMissing: "Delete" } },
  });
  const confirm: Command = { type: "confirm-removals", name: "main", right: scene.below(0.6) };
  return [
    { type: "end-faults" },
    clusterConnection(scene),
    ...NAMESPACES.map((namespace): Command => ({
      type: "label",
      namespace,
      labels: { team: "red" },
    })),
    ...MANY_NAMES.map((name): Command => ({
      type: "write-secret",
      vault,
      owner: CLUSTER_ACCOUNT,
      name,
    })),
    ...NAMESPACES.filter(() => scene.below(0.7)).map(put),
    put(scene.namespace),
    scene.advance(90_000),
    { type: "vanish", vault, prefix: "m" },
    scene.advance(10_000 + scene.random() * 200_000),
    ...scene.maybe(0.3, ...RESTART, scene.advance(30_000)),
    ...scene.maybe(0.7, confirm),
    scene.advance(420_000),
  ];
};

const sequences = { oneKey, renamedKeys, editedWhileHeld, manyDeadlines, clusterLoss } as const;

type SequenceName = keyof typeof sequences;
export const sequenceNames = Object.keys(sequences) as SequenceName[];

/** Returns the commands of one of these sequences. */
export const coincidingChanges = (name: SequenceName, random: Random): Command[] =>
  sequences[name](new Scene(random));

/**
 * Returns the commands with a sequence, in some episodes, in which several changes coincide that
 * random commands hardly ever make of one resource. Its random numbers are separate: all other
 * episodes are unchanged.
 */
export function withCoincidingChanges(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0xc01c);
  if (random() >= SHARE) return [...commands];
  const name = sequenceNames[Math.floor(random() * sequenceNames.length)]!;
  const sequence = coincidingChanges(name, random);
  return withSequence(commands, sequence, random);
}
