/** Reports whether a value is what its fields say, unlike a Map, a Date or a Buffer. */
function isContainer(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  return Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Equal to no value. */
const ABSENT = Symbol("absent");

/**
 * Returns a value equal to `now` that consists of `before` as far as the two are equal. Arrays and
 * plain objects are compared; any other object comes from `now`. Values that are stored for long
 * then remain where they are in memory, and what only one version has is collected soon.
 */
export function reuseEqual<T>(before: T | undefined, now: T): T;
export function reuseEqual(before: unknown, now: unknown): unknown {
  if (Object.is(before, now) || !isContainer(before) || !isContainer(now)) return now;
  const names = Object.keys(now);
  const result: unknown = Array.isArray(now) ? [...now] : { ...now };
  if (!isContainer(result)) return now;
  let isEqual =
    Array.isArray(before) === Array.isArray(now) && names.length === Object.keys(before).length;
  for (const name of names) {
    const earlier = Object.hasOwn(before, name) ? before[name] : ABSENT;
    const part = reuseEqual(earlier, now[name]);
    if (!Object.is(part, earlier)) isEqual = false;
    result[name] = part;
  }
  return isEqual ? before : result;
}
