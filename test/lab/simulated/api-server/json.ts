/** JSON of the API that may be changed. */
export type Json = Record<string, unknown>;

export function isJson(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the field as an object; an empty one for anything else. */
export function objectAt(value: unknown, field: string): Json {
  const found = isJson(value) ? value[field] : undefined;
  return isJson(found) ? found : {};
}

/**
 * Returns a read-only copy without the fields that are `undefined`, as a request body transfers it.
 * A caller that changes what it has read fails. The copy shares the parts that are frozen, i.e.
 * such copies already: most of an object is the same after a write.
 */
export function transferred<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Object.isFrozen(value)) return value;
  const result = Array.isArray(value)
    ? value.map((part) => copy(part) ?? null)
    : fieldsCopied(value as Json);
  return Object.freeze(result);
}

function fieldsCopied(value: Json): Json {
  const result = { ...value };
  // A loop with `in` is compiled again for each new shape of objects.
  for (const name of Object.keys(result)) {
    const part = result[name];
    if (part === undefined) delete result[name];
    else if (typeof part === "object") result[name] = copy(part);
  }
  return result;
}

/** Reports whether two JSON values are equal, regardless of the order of fields. */
export function isEqualJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((part, index) => isEqualJson(part, b[index]));
  if (!isJson(a) || !isJson(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => name in b && isEqualJson(a[name], b[name]))
  );
}

/** Applies a JSON merge patch (RFC 7386) and returns the result. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const result: Json = isJson(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}
