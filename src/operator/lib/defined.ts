/** Returns the members that are not `undefined`, as in JSON. */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const out: { [K in keyof T]?: Exclude<T[K], undefined> } = {};
  for (const key in value) {
    const member = value[key];
    if (isDefined(member)) out[key] = member;
  }
  return out;
}

function isDefined<T>(member: T): member is Exclude<T, undefined> {
  return member !== undefined;
}
