import type { Random } from "../../src/lib/random.ts";

/**
 * Features that only some episodes have, because a check accepts much in their presence. Examples:
 * I5 accepts any state of an entry that was removed, and I1 any removal of a missing one under
 * `whenMissing: Delete`.
 */
const FREQUENT = ["removals", "whenMissing", "apiFaults", "silence", "skews"] as const;
/** Features that are rare: an episode has a handful, or none. */
const RARE = [
  "Orphan",
  "Merge",
  "immutable",
  "whenRemoved",
  "refreshInterval",
  "template",
  "types",
  // A Secret has one of several types.
  "types",
  "metadata",
  "filesFrom",
  "findMetadata",
  "rewrite",
  "forms",
  "adopt",
  "forceSync",
  "accept",
  "hold",
  "freeze",
  "updates",
  "many",
  "renames",
  "trustedOwners",
  "connections",
  // A scope has one of several forms.
  "connections",
  "workloads",
  "versions",
  "validate",
] as const;
export type Feature = (typeof FREQUENT)[number] | (typeof RARE)[number];
/**
 * Share of the episodes with none of the rare features, and the highest number of them in an
 * episode with some.
 */
const PLAIN_SHARE = 0.3;
const MAX_RARE = 15;

/** Draws from a list. */
export class Draw {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }

  /** Picks from choices that each have a weight. */
  weighted<T>(from: readonly (readonly [number, T])[]): T {
    const total = from.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.random() * total;
    const [, picked] = from.find(([weight]) => (at -= weight) < 0) ?? from[0]!;
    return picked;
  }

  /** Returns at least one. */
  some<T>(from: readonly T[]): T[] {
    const chosen = from.filter(() => this.random() < 0.5);
    return chosen.length > 0 ? chosen : [this.pick(from)];
  }

  below(share: number): boolean {
    return this.random() < share;
  }

  /** Returns the features of an episode. */
  features(): ReadonlySet<Feature> {
    const frequent = FREQUENT.filter(() => this.below(0.5));
    const count = this.below(PLAIN_SHARE) ? 0 : 1 + Math.floor(this.random() * MAX_RARE);
    const rare = Array.from({ length: count }, () => this.pick(RARE));
    return new Set([...frequent, ...rare]);
  }
}
