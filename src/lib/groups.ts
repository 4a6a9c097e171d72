/** Sets by name. Empty sets are removed. */
export class Groups {
  readonly #members = new Map<string, Set<string>>();

  add(name: string, member: string): void {
    const members = this.#members.get(name);
    if (members) members.add(member);
    else this.#members.set(name, new Set([member]));
  }

  remove(name: string, member: string): void {
    const members = this.#members.get(name);
    members?.delete(member);
    if (members?.size === 0) this.#members.delete(name);
  }

  get(name: string): ReadonlySet<string> {
    return this.#members.get(name) ?? new Set();
  }
}
