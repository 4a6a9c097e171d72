/** Largest number of properties to choose from. */
const MAX_PROPERTIES = 200;
const LEVELS = 3;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Member = readonly [pointer: string, value: unknown];

function membersIn(value: unknown, base: string, level: number): Member[] {
  if (!isObject(value) || level === LEVELS || Object.keys(value).length === 0)
    return [[base, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    membersIn(member, `${base}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, level + 1),
  );
}

/**
 * Returns the members of a value that is a JSON object, and of its nested objects, with their JSON
 * Pointers; none of any other value.
 */
export function jsonMembers(value: string): Member[] {
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) && Object.keys(parsed).length > 0 ? membersIn(parsed, "", 0) : [];
  } catch {
    return [];
  }
}

/** Returns JSON Pointers to the first members of a value (`jsonMembers`). */
export function jsonProperties(value: string): string[] {
  return jsonMembers(value)
    .slice(0, MAX_PROPERTIES)
    .map(([pointer]) => pointer);
}
