import type { Random } from "../../../src/lib/random.ts";
import { HOLD_ANNOTATION } from "../../../src/operator/api/names.ts";
import { accountOf, CREATOR, NAMESPACES, type VAULTS } from "../cast.ts";
import { Scene } from "../coinciding-changes.ts";
import type { Command } from "../commands.ts";
import { CHAIN_NAMES, PUSHED_NAMES } from "../invariants/spec-items.ts";
import { restartOf } from "../sequences.ts";
import type { BesideCommand } from "./beside-commands.ts";

/** The connection through which the scenes push and read. */
export const PUSHING = "pushing";
const HEADING = "heading";
/** The VaultPush of a loop whose bytes grow: it never rests. */
export const GROWING = "growing";
const SOURCE = "pushed";
/** Nothing but the watch of targets shows a change of a Secret in time. */
const SLOW = "24h";
const [FIRST, SECOND, , SHARED] = PUSHED_NAMES;
const [HEAD, ONE, OTHER] = CHAIN_NAMES;

const from = (secretKey: string, key: string, more: object = {}): object => ({
  secretKey,
  remoteRef: { key, ...more },
});

const template = (text: string): object => ({ template: { data: { k1: text } } });

/** Draws the parts of a sequence with VaultPushes and resources that read their entries. */
export class BesideScene extends Scene {
  push(name: string, spec: object): BesideCommand {
    const { namespace } = this;
    const all = {
      connectionRef: { name: PUSHING },
      refreshInterval: this.pick(["5s", "10s", "1m"]),
      ...spec,
    };
    return { type: "push", how: "put", namespace, name, spec: all };
  }

  /** Returns a connection to the vault of the episode: bytes are pushed to one vault only. */
  pushing(changes: object = {}): Command {
    const { spec } = this.connection(changes) as { readonly spec: object };
    const { namespace } = this;
    return { type: "put", kind: "VaultConnection", namespace, name: PUSHING, spec };
  }

  /** Returns another connection to the same vault: it may be in another shard. */
  heading(): Command {
    return { ...this.pushing(), name: HEADING } as Command;
  }

  reader(name: string, spec: object): Command {
    return this.resource({ connectionRef: { name: PUSHING }, ...spec }, name);
  }

  set(key: string, name = SOURCE): BesideCommand {
    return { type: "push", how: "set", namespace: this.namespace, name, key };
  }

  delete(name: string): BesideCommand {
    return { type: "push", how: "delete", namespace: this.namespace, name };
  }

  /** Returns something that may happen between a push and those who read it. */
  disturbance(): Command[] {
    const { namespace } = this;
    const replica = this.pick([0, 1]);
    return this.pick<() => Command[]>([
      () => [],
      () => restartOf(0, 1),
      () => [{ type: "crash", replica }, this.advance(this.random() * 30_000)],
      () => [{ type: "stop", replica }, this.advance(20_000), { type: "start", replica }],
      () => [{ type: "vault-fault", vault: this.vault, fault: "reset", share: 0.5 }],
      () => [{ type: "vault-fault", vault: this.vault, fault: "old-list", share: 0.7 }],
      () => [{ type: "api-fault", fault: "lost-response", share: 0.3 }],
      () => [{ type: "silence-watches" }],
      () => [this.pushing()],
      () => [
        { type: "delete", kind: "VaultConnection", namespace, name: PUSHING },
        this.advance(this.random() * 120_000),
        this.pushing(),
      ],
    ])();
  }
}

type BesideSequence = (scene: BesideScene) => Command[];

/** Entries are pushed, read, and pushed again; the reader may be held, gated or renamed. */
const followed: BesideSequence = (scene) => {
  const { namespace } = scene;
  const data = [from("k1", FIRST), from("k2", SECOND)];
  const more = scene.pick([
    {},
    { refreshInterval: "45s" },
    { target: { whenMissing: "Delete" } },
    { target: { template: { data: { k1: `{{ vars["k1"] }}|{{ vars["k2"] }}` } } } },
    { updates: { approval: "Required" } },
    { target: { name: "pushed-target" } },
  ]);
  const hold = (text: string | null): Command => ({
    type: "annotate",
    kind: "VaultSecret",
    namespace,
    name: "reader",
    annotations: { [HOLD_ANNOTATION]: text },
  });
  const isHeld = scene.below(0.25);
  const pushes = (suspend: boolean): Command =>
    scene.push("forward", {
      suspend,
      secret: { name: SOURCE },
      data: [from(FIRST, FIRST), from(SECOND, SECOND)],
      deletionPolicy: scene.pick(["Delete", "Retain"]),
    });
  const isSuspended = scene.below(0.25);
  return [
    { type: "end-faults" },
    scene.pushing(),
    scene.set(FIRST),
    scene.set(SECOND),
    pushes(false),
    scene.reader("reader", { data, ...more }),
    { type: "settle" },
    ...(isHeld ? [hold("*")] : []),
    ...(isSuspended ? [pushes(true)] : []),
    scene.set(FIRST),
    ...scene.disturbance(),
    scene.advance(scene.random() * 120_000),
    scene.set(SECOND),
    ...scene.maybe(0.4, scene.reader("reader", { data, target: { name: "pushed-other" } })),
    scene.advance(scene.random() * 60_000),
    ...scene.maybe(0.5, {
      type: "approve",
      kind: "VaultSecret",
      namespace,
      name: "reader",
      right: true,
    }),
    ...(isHeld ? [hold(null)] : []),
    ...(isSuspended ? [pushes(false)] : []),
    { type: "settle" },
    ...scene.maybe(0.5, scene.delete("forward"), scene.advance(60_000)),
  ];
};

/**
 * The target of one resource is pushed, and another one reads the entry. A user edits the target in
 * the middle, or the first entry disappears.
 */
const chained: BesideSequence = (scene) => {
  const whenMissing = scene.pick(["Delete", "Retain"]);
  const middle = scene.pick([{ whenMissing }, template('tmpl:{{ vars["k1"] }}')]);
  return [
    { type: "end-faults" },
    scene.pushing(),
    scene.write(HEAD),
    scene.heading(),
    scene.reader("middle", {
      connectionRef: { name: scene.pick([PUSHING, HEADING]) },
      data: [from("k1", HEAD)],
      target: middle,
    }),
    scene.push("forward", {
      refreshInterval: scene.pick(["5s", SLOW]),
      secret: { name: "middle" },
      data: [from("k1", FIRST)],
    }),
    scene.reader("reader", { data: [from("k1", FIRST)] }),
    { type: "settle" },
    scene.write(HEAD),
    ...scene.disturbance(),
    scene.advance(scene.random() * 90_000),
    ...scene.maybe(0.4, scene.set("k1", "middle"), scene.advance(scene.random() * 30_000)),
    scene.write(HEAD),
    { type: "settle" },
    ...scene.maybe(0.4, scene.remove(HEAD), scene.advance(420_000), { type: "settle" }),
    ...scene.maybe(0.3, scene.delete("forward"), scene.advance(60_000)),
    ...scene.maybe(0.7, scene.delete("forward"), {
      type: "delete",
      kind: "VaultSecret",
      namespace: scene.namespace,
      name: "middle",
    }),
  ];
};

/**
 * Two resources and two VaultPushes are a loop. It rests when each passes the same bytes on, and
 * makes a bounded number of versions when one of them adds to the bytes. A loop of one resource and
 * one VaultPush is refused. Its Secrets have no other bytes: a loop would copy them into its entries.
 */
const looped: BesideSequence = (scene) => {
  const isDirect = scene.below(0.5);
  const grows = !isDirect && scene.below(0.5);
  const back = grows ? GROWING : "back";
  const target = grows ? template('x{{ vars["k1"] }}') : {};
  return [
    { type: "end-faults" },
    scene.pushing(),
    scene.write(ONE),
    scene.reader("loop-1", { data: [from("k1", ONE)] }),
    scene.push("forward", {
      secret: { name: "loop-1" },
      data: [from("k1", isDirect ? ONE : OTHER)],
    }),
    ...(isDirect
      ? [scene.reader("loop-2", { data: [from("k1", ONE)] })]
      : [
          scene.reader("loop-2", { data: [from("k1", OTHER)], target }),
          scene.push(back, { secret: { name: "loop-2" }, data: [from("k1", ONE)] }),
        ]),
    ...(grows ? [scene.advance(1_200_000)] : []),
    ...scene.maybe(0.3, ...restartOf(0, 1)),
    { type: "settle" },
    scene.delete("forward"),
    scene.delete(back),
    { type: "settle" },
  ];
};

/** A VaultPush deletes its entries while resources with different policies read them. */
const deleted: BesideSequence = (scene) => {
  const names = scene.below(0.5) ? PUSHED_NAMES : PUSHED_NAMES.slice(0, 2);
  const { namespace } = scene;
  const data = names.map((name) => from(name, name));
  const confirm: Command = {
    type: "confirm-removals",
    namespace,
    name: PUSHING,
    right: scene.below(0.7),
  };
  return [
    { type: "end-faults" },
    scene.pushing(),
    ...names.map((name) => scene.set(name)),
    scene.push("forward", {
      secret: { name: SOURCE },
      data,
      deletionPolicy: scene.pick(["Delete", "Delete", "Retain"]),
    }),
    scene.reader("reader", { data, target: { whenMissing: "Delete" } }),
    scene.reader("keeper", { data, target: { whenRemoved: scene.pick(["Retain", "Delete"]) } }),
    { type: "settle" },
    scene.delete("forward"),
    ...scene.disturbance(),
    scene.advance(scene.random() * 200_000),
    ...scene.maybe(0.4, scene.push("forward", { secret: { name: SOURCE }, data })),
    ...scene.maybe(0.4, confirm),
    { type: "settle" },
    scene.advance(420_000),
    ...scene.maybe(0.5, confirm),
    scene.advance(120_000),
  ];
};

/** Pushed entries reach their deadlines: resources lose the bytes unless their policy keeps them. */
const expired: BesideSequence = (scene) => {
  const data = [from("k1", FIRST), from("k2", SECOND)];
  const push = (deleteTime?: string): Command =>
    scene.push("forward", {
      secret: { name: SOURCE },
      data: [{ ...from(FIRST, FIRST), ...(deleteTime && { deleteTime }) }, from(SECOND, SECOND)],
    });
  return [
    { type: "end-faults" },
    scene.pushing(),
    scene.set(FIRST),
    scene.set(SECOND),
    push(),
    scene.reader("reader", { data }),
    scene.reader("keeper", { data, target: { whenRemoved: "Retain" } }),
    { type: "settle" },
    push("5m"),
    { type: "settle" },
    scene.set(FIRST),
    scene.advance(700_000),
    ...scene.maybe(0.5, scene.set(FIRST), scene.advance(120_000)),
  ];
};

/** A creator's secret is pushed by one namespace, and read by both. */
const received: BesideSequence = (scene) => {
  const { vault, namespace, owner } = scene;
  const share = (to: string, permission: "R" | "RW"): Command => ({
    type: "push",
    how: "share",
    vault,
    name: SHARED,
    to: accountOf(to),
    permission,
  });
  const other = NAMESPACES.find((one) => one !== namespace)!;
  const trusting = { trustedOwners: [CREATOR] };
  const connection = scene.pushing(trusting) as Extract<Command, { type: "put" }>;
  const isNamed = scene.below(0.5);
  const reader = scene.reader("reader", {
    data: [from("k1", SHARED, isNamed ? { owner: CREATOR } : {})],
  }) as Extract<Command, { type: "put" }>;
  return [
    { type: "end-faults" },
    { type: "write-secret", vault, owner: CREATOR, name: SHARED },
    share(namespace, "RW"),
    share(other, scene.pick(["R", "RW"])),
    connection,
    {
      ...connection,
      namespace: other,
      spec: { ...connection.spec, email: accountOf(other) },
    },
    scene.set(SHARED),
    scene.push("forward", {
      secret: { name: SOURCE },
      data: [from(SHARED, SHARED, scene.below(0.5) ? { owner: CREATOR } : {})],
      deletionPolicy: "Delete",
    }),
    reader,
    { ...reader, namespace: other },
    { type: "settle" },
    scene.set(SHARED),
    ...scene.disturbance(),
    scene.advance(scene.random() * 120_000),
    ...scene.maybe(0.3, { type: "unshare", vault, name: SHARED, to: owner }),
    scene.advance(120_000),
    { type: "settle" },
    scene.delete("forward"),
    scene.advance(60_000),
  ];
};

/** A key changes more often than its entry may have versions, while a resource follows it slowly. */
const rotated: BesideSequence = (scene) => [
  { type: "end-faults" },
  scene.pushing(),
  scene.set(FIRST),
  scene.push("forward", {
    refreshInterval: "5s",
    secret: { name: SOURCE },
    data: [from(FIRST, FIRST)],
  }),
  scene.reader("reader", {
    data: [from("k1", FIRST)],
    ...(scene.below(0.5) && { refreshInterval: "3m" }),
  }),
  { type: "settle" },
  ...Array.from({ length: 34 }, () => [scene.set(FIRST), scene.advance(20_000)]).flat(),
  ...scene.maybe(0.5, { type: "settle" }),
];

const sequences = {
  followed,
  chained,
  looped,
  deleted,
  expired,
  received,
  rotated,
} as const;
export type BesideName = keyof typeof sequences;
export const besideNames = Object.keys(sequences) as BesideName[];
/** Common sequences are there more than once. */
const WEIGHTS: readonly BesideName[] = [
  "followed",
  "followed",
  "chained",
  "chained",
  "chained",
  "looped",
  "looped",
  "deleted",
  "deleted",
  "expired",
  "received",
  "rotated",
];

/** Returns the commands of a sequence in one vault: of a random one, unless it is named. */
export function besideSequence(
  random: Random,
  vault: (typeof VAULTS)[number],
  name?: BesideName,
): Command[] {
  const scene = new BesideScene(random, vault);
  return sequences[name ?? scene.pick(WEIGHTS)](scene);
}
