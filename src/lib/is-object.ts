/** The fields of an object whose values are yet to be checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Reports whether `value` is an object with named fields: neither `null` nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
