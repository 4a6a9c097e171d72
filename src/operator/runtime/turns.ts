/**
 * A queue of keys in which groups take turns, within a group its lanes take turns, and the keys of
 * one lane are first in, first out. The time of an operation does not depend on the number of keys.
 */
export class Turns {
  /** Lanes by group, in the order of the turns: a `Map` keeps the order of insertion. */
  readonly #groups = new Map<string, Map<string, Set<string>>>();

  add(group: string, lane: string, key: string): void {
    const lanes = this.#groups.get(group) ?? new Map<string, Set<string>>();
    const keys = lanes.get(lane) ?? new Set();
    this.#groups.set(group, lanes.set(lane, keys.add(key)));
  }

  remove(group: string, lane: string, key: string): void {
    const lanes = this.#groups.get(group);
    const keys = lanes?.get(lane);
    keys?.delete(key);
    if (keys?.size === 0) lanes?.delete(lane);
    if (lanes?.size === 0) this.#groups.delete(group);
  }

  /**
   * Removes and returns the next key of a lane that is not skipped. A group or lane that is skipped
   * keeps its turn.
   */
  take(skipped: (lane: string) => boolean): string | undefined {
    for (const [group, lanes] of this.#groups) {
      for (const [lane, keys] of lanes) {
        if (skipped(lane)) continue;
        const [key] = keys;
        if (key === undefined) continue;
        keys.delete(key);
        lanes.delete(lane);
        if (keys.size > 0) lanes.set(lane, keys);
        this.#groups.delete(group);
        if (lanes.size > 0) this.#groups.set(group, lanes);
        return key;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
  }
}
