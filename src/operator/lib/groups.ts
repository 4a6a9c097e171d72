/**
 * Sets of strings by name. Empty sets are removed. Most names have one member, for which no set is
 * kept: it would take 200 bytes.
 */
export class Groups {
  readonly #members = new Map<string, string | Set<string>>();

  add(name: string, member: string): void {
    const members = this.#members.get(name);
    if (members === undefined) this.#members.set(name, member);
    else if (typeof members !== "string") members.add(member);
    else if (members !== member) this.#members.set(name, new Set([members, member]));
  }

  remove(name: string, member: string): void {
    const members = this.#members.get(name);
    if (typeof members === "object") members.delete(member);
    if (members === member || (typeof members === "object" && members.size === 0))
      this.#members.delete(name);
  }

  get(name: string): ReadonlySet<string> {
    const members = this.#members.get(name);
    return typeof members === "object" ? members : new Set(members === undefined ? [] : [members]);
  }

  names(): Iterable<string> {
    return this.#members.keys();
  }
}

/** The names that a member has: pairs of a group and a name in it. */
export type GroupNames<G extends string> = readonly (readonly [group: G, name: string])[];

/** Finds members by the names that each has in several groups. */
export class GroupIndex<G extends string> {
  readonly #groups = new Map<G, Groups>();

  /** Replaces the names of a member. The caller knows `before`: it takes no memory here. */
  replace(member: string, before: GroupNames<G>, now: GroupNames<G>): void {
    for (const [group, name] of before) this.#group(group).remove(name, member);
    for (const [group, name] of now) this.#group(group).add(name, member);
  }

  /** Returns the members that have a name. */
  get(group: G, name: string): ReadonlySet<string> {
    return this.#group(group).get(name);
  }

  names(group: G): Iterable<string> {
    return this.#group(group).names();
  }

  /** Number of names in all groups. */
  get size(): number {
    return [...this.#groups.values()].reduce((sum, group) => sum + [...group.names()].length, 0);
  }

  #group(group: G): Groups {
    const known = this.#groups.get(group);
    if (known !== undefined) return known;
    const groups = new Groups();
    this.#groups.set(group, groups);
    return groups;
  }
}
