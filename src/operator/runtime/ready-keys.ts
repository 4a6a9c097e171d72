import { Turns } from "./turns.ts";

/** Reasons to reconcile a key, most urgent first (docs/design/engine.md#fairness). */
export const PRIORITIES = ["spec", "drift", "vault", "background"] as const;
export type Priority = (typeof PRIORITIES)[number];

export function moreUrgent(a: Priority, b: Priority): Priority {
  return PRIORITIES.indexOf(a) <= PRIORITIES.indexOf(b) ? a : b;
}

/** A key that can be taken. */
export interface ReadyKey {
  readonly key: string;
  readonly priority: Priority;
  /** Group that takes turns with others within a priority. */
  readonly turn: string;
  /** Group of which a limited number of keys is processed simultaneously; empty for none. */
  readonly cap: string;
  /** Time at which the key became ready, in milliseconds of the monotonic clock. */
  readonly since: number;
}

/** Number of keys taken of which one is the oldest, whatever its priority. */
const OLDEST_OF = 4;

/** Keys that are ready, each once. Decides which one is next. */
export class ReadyKeys {
  readonly #keys = new Map<string, ReadyKey>();
  readonly #byPriority = new Map<Priority, Turns>(
    PRIORITIES.map((priority) => [priority, new Turns()]),
  );
  /** Keys by cap, oldest first. */
  readonly #byAge = new Map<string, Map<string, ReadyKey>>();
  #taken = 0;

  get size(): number {
    return this.#keys.size;
  }

  /** Time since which the oldest key is ready. */
  get oldestSince(): number | undefined {
    return this.#oldest(() => false)?.since;
  }

  /** Adds a key. One that is ready already keeps its age and the more urgent priority. */
  add(added: ReadyKey): void {
    const before = this.#keys.get(added.key);
    if (before === undefined) return this.#set(added);
    const priority = moreUrgent(added.priority, before.priority);
    if (before.priority === priority && before.cap === added.cap) return;
    this.#byPriority.get(before.priority)?.remove(before.turn, before.cap, before.key);
    if (before.cap !== added.cap) this.#removeAge(before);
    this.#set({ ...added, priority, since: before.since });
  }

  /** Removes and returns the next key whose cap is not reached. */
  take(isReached: (cap: string) => boolean): ReadyKey | undefined {
    const taken =
      (this.#taken % OLDEST_OF === OLDEST_OF - 1 ? this.#oldest(isReached) : undefined) ??
      this.#mostUrgent(isReached);
    if (taken === undefined) return undefined;
    this.#taken += 1;
    this.#keys.delete(taken.key);
    this.#byPriority.get(taken.priority)?.remove(taken.turn, taken.cap, taken.key);
    this.#removeAge(taken);
    return taken;
  }

  clear(): void {
    this.#keys.clear();
    this.#byAge.clear();
    for (const turns of this.#byPriority.values()) turns.clear();
  }

  #set(ready: ReadyKey): void {
    const { key, priority, turn, cap } = ready;
    this.#keys.set(key, ready);
    this.#byPriority.get(priority)?.add(turn, cap, key);
    const ages = this.#byAge.get(cap) ?? new Map<string, ReadyKey>();
    this.#byAge.set(cap, ages.set(key, ready));
  }

  #mostUrgent(isReached: (cap: string) => boolean): ReadyKey | undefined {
    for (const turns of this.#byPriority.values()) {
      const key = turns.take(isReached);
      if (key !== undefined) return this.#keys.get(key);
    }
    return undefined;
  }

  #oldest(isReached: (cap: string) => boolean): ReadyKey | undefined {
    let oldest: ReadyKey | undefined;
    for (const [cap, ages] of this.#byAge) {
      if (isReached(cap)) continue;
      const [first] = ages.values();
      if (first !== undefined && first.since < (oldest?.since ?? Infinity)) oldest = first;
    }
    return oldest;
  }

  #removeAge({ key, cap }: ReadyKey): void {
    const ages = this.#byAge.get(cap);
    ages?.delete(key);
    if (ages?.size === 0) this.#byAge.delete(cap);
  }
}
