/** Largest number of properties to choose from. */
const MAX_PROPERTIES = 200;
const LEVELS = 3;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pointersIn(value: unknown, base: string, level: number): string[] {
  if (!isObject(value) || level === LEVELS || Object.keys(value).length === 0) return [base];
  return Object.entries(value).flatMap(([name, member]) =>
    pointersIn(member, `${base}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, level + 1),
  );
}

/**
 * Returns JSON Pointers to the members of a value that is a JSON object, and of its nested objects; none of
 * any other value.
 */
export function jsonProperties(value: string): string[] {
  try {
    const parsed: unknown = JSON.parse(value);
    if (!isObject(parsed) || Object.keys(parsed).length === 0) return [];
    return pointersIn(parsed, "", 0).slice(0, MAX_PROPERTIES);
  } catch {
    return [];
  }
}
