import { isObject } from "../../../lib/is-object.ts";

/**
 * Reports whether a parsed response is a `T`. Hand-written, because zod alone would be larger than
 * this application.
 */
export type Guard<T> = (value: unknown) => value is T;

export const isString: Guard<string> = (value) => typeof value === "string";
export const isNumber: Guard<number> = (value) => typeof value === "number";
export const isBoolean: Guard<boolean> = (value) => typeof value === "boolean";

export function oneOf<T>(...guards: Guard<T>[]): Guard<T> {
  return (value): value is T => guards.some((guard) => guard(value));
}

export function literal<T extends string>(...texts: readonly T[]): Guard<T> {
  return (value): value is T => texts.some((text) => text === value);
}

export function listOf<T>(entry: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(entry);
}

/** Returns a guard for an object with these members; further members are allowed. */
export function shape<T extends object>(members: {
  readonly [Name in keyof T]-?: Guard<T[Name]>;
}): Guard<T> {
  const guards: [string, Guard<unknown>][] = Object.entries(members);
  return (value): value is T =>
    isObject(value) && guards.every(([name, guard]) => guard(value[name]));
}
