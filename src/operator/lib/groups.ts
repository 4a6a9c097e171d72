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
