/** Keys of many groups, each group first in first out, the groups taking turns. Every operation takes constant time. */
export class TurnTaker {
  /** In the order of turns: a `Map` keeps the order of insertion. */
  readonly #groups = new Map<string, Set<string>>();

  add(group: string, key: string): void {
    const keys = this.#groups.get(group);
    if (keys) keys.add(key);
    else this.#groups.set(group, new Set([key]));
  }

  remove(group: string, key: string): void {
    const keys = this.#groups.get(group);
    keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
  }

  take(): string | undefined {
    for (const [group, keys] of this.#groups) {
      for (const key of keys) {
        keys.delete(key);
        this.#groups.delete(group);
        if (keys.size > 0) this.#groups.set(group, keys);
        return key;
      }
    }
    return undefined;
  }
}
