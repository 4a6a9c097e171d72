import type { Random } from "../../src/lib/random.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import type { Command } from "./commands.ts";
import { CHANGE_NAMES, MANY_NAMES } from "./invariants/spec-items.ts";
import { restartOf, withSequence } from "./sequences.ts";
import { accountOf, NAMESPACES, urlOf, VAULTS } from "./world.ts";

/** Share of the episodes with one of these sequences. */
const SHARE = 0.35;
/** Rounds of a race, few of which are close. */
const RACES = 8;

const RESTART = restartOf(0, 1);
/** A secret of both vaults, and one that only the former vault has. */
const STEADY = CHANGE_NAMES[0];
const EXPIRING = CHANGE_NAMES[5];

/**
 * Returns the commands with a sequence in some episodes whose single commands are frequent, but
 * which hardly follow each other by chance.
 */
export function withRareSequences(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x5ace);
  if (random() >= SHARE) return [...commands];
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const sequence = pick([otherConnection, overtaken, keptLoss])(random, pick);
  return withSequence(commands, sequence, random);
}

type Pick = <T>(values: readonly T[]) => T;

/** A resource in the namespace, and what it reads in a vault. */
function scene(namespace: string, vault: string) {
  const owner = accountOf(namespace);
  return {
    write: (name: string, options: object = {}): Command => ({
      type: "write-secret",
      vault,
      owner,
      name,
      ...options,
    }),
    connection: (changes: object): Command => ({
      type: "put",
      kind: "VaultConnection",
      namespace,
      name: "main",
      spec: {
        url: urlOf(vault),
        email: owner,
        auth: { passwordSecretRef: { name: "login" } },
        ...changes,
      },
    }),
    resource: (spec: object): Command => ({
      type: "put",
      kind: "VaultSecret",
      namespace,
      name: "delta",
      spec: { connectionRef: { name: "main" }, ...spec },
    }),
  };
}

const advance = (ms: number): Command => ({ type: "advance", ms: Math.floor(ms) });

/**
 * A connection moves to a vault that never had a secret, before the deadline that the former vault
 * listed for it, and lists the other vault after that deadline. The process may be another one then.
 */
function otherConnection(random: Random, pick: Pick): Command[] {
  const namespace = pick(NAMESPACES);
  const [vault, other] = pick([VAULTS, VAULTS.toReversed()]) as readonly [string, string];
  const [former, present] = [scene(namespace, vault), scene(namespace, other)];
  const interval = { refreshInterval: "5s", follow: "Interval" };
  return [
    { type: "end-faults" },
    former.write(STEADY),
    former.write(EXPIRING, { minutes: 4 }),
    former.connection(interval),
    former.resource({
      data: [STEADY, EXPIRING].map((key, at) => ({ secretKey: `k${at + 1}`, remoteRef: { key } })),
    }),
    advance(60_000 + random() * 60_000),
    { type: "vault-fault", vault: other, fault: "unreachable", share: 1 },
    present.connection(interval),
    ...(random() < 0.5 ? RESTART : []),
    advance(300_000),
    { type: "end-faults" },
    advance(60_000),
  ];
}

/**
 * Many names disappear while a resource keeps their keys, or a user makes it keep them before he
 * knows. Later the keys are to be removed again, by another process or the same.
 */
function keptLoss(random: Random, pick: Pick): Command[] {
  const [namespace, vault] = [pick(NAMESPACES), pick(VAULTS)];
  const { write, connection, resource } = scene(namespace, vault);
  const rule = (whenMissing: string, regexp = "^m"): Command =>
    resource({ dataFrom: [{ find: { name: { regexp } } }], target: { whenMissing } });
  const restart = random() < 0.6 ? RESTART : [];
  return [
    { type: "end-faults" },
    ...MANY_NAMES.map((name) => write(name)),
    connection({ refreshInterval: pick(["5s", "60s"]), follow: pick(["Auto", "Interval"]) }),
    rule(pick(["Delete", "Retain"])),
    advance(90_000),
    { type: "vanish", vault, prefix: "m" },
    advance(random() ** 2 * 90_000),
    rule("Retain"),
    ...(random() < 0.5
      ? [{ type: "api-fault", fault: "refused", share: 1 } as const, advance(30_000)]
      : []),
    ...restart,
    advance(random() * 400_000),
    { type: "end-faults" },
    advance(60_000 + random() * 300_000),
    ...(random() < 0.3 ? [write(MANY_NAMES[0]), advance(70_000)] : []),
    rule("Delete"),
    advance(400_000),
    ...(random() < 0.5 ? fewLeft(namespace, rule("Delete", "^m[23]$"), connection({})) : []),
  ];
}

/** Few of the names are left when their connection is created again. */
const fewLeft = (namespace: string, rule: Command, connection: Command): Command[] => [
  rule,
  advance(30_000),
  { type: "delete", kind: "VaultConnection", namespace, name: "main" },
  advance(30_000),
  connection,
  advance(400_000),
];

/**
 * A leader reads a version, and stands still before it writes it. A user deletes the Lease, another
 * replica writes the next version, and the former leader continues before it learns that.
 */
function overtaken(random: Random, pick: Pick): Command[] {
  const [namespace, vault] = [pick(NAMESPACES), pick(VAULTS)];
  const { write, connection, resource } = scene(namespace, vault);
  const name = "raced-target";
  const race = (): Command[] => {
    const replica = pick([0, 1]);
    return [
      { type: "vault-fault", vault, fault: "slow", share: 1 },
      write(STEADY),
      advance(100 + random() * 900),
      { type: "end-faults" },
      { type: "suspend", replica },
      { type: "delete-lease" },
      write(STEADY),
      advance(5_000 + random() * 2_500),
      { type: "resume", replica },
      advance(30_000),
    ];
  };
  return [
    { type: "end-faults" },
    { type: "configure", flags: {} },
    ...RESTART,
    { type: "add-foreign", kind: "Secret", namespace, name, how: 3 },
    write(STEADY),
    connection({ refreshInterval: "60s", follow: "Auto" }),
    resource({
      data: [{ secretKey: "k1", remoteRef: { key: STEADY } }],
      target: { name, creationPolicy: "Merge" },
    }),
    advance(60_000),
    ...Array.from({ length: RACES }, race).flat(),
  ];
}
