import { isObject, type JsonObject } from "../../../lib/is-object.ts";

/** One entry of a list, and the name it was filed under where the list is an object keyed by name. */
export interface ListEntry {
  readonly key: string | undefined;
  readonly record: JsonObject;
}

const GENERIC_KEYS = ["list", "items", "records", "data", "result", "results"];

function fromArray(list: readonly unknown[]): ListEntry[] | undefined {
  return list.every(isObject) ? list.map((record) => ({ key: undefined, record })) : undefined;
}

function fromMap(map: JsonObject): ListEntry[] | undefined {
  const entries = Object.entries(map).flatMap(([key, record]) => (isObject(record) ? [{ key, record }] : []));
  return entries.length === Object.keys(map).length ? entries : undefined;
}

function entriesOf(list: unknown): ListEntry[] | undefined {
  if (Array.isArray(list)) return fromArray(list);
  return isObject(list) ? fromMap(list) : undefined;
}

/** Non-empty, and every entry of it is a record: what a list must be to be recognised where its place has no name we know. */
function recognised(list: unknown, isRecord: (record: JsonObject) => boolean): ListEntry[] | undefined {
  const entries = entriesOf(list);
  return entries && entries.length > 0 && entries.every(({ record }) => isRecord(record)) ? entries : undefined;
}

/**
 * The entries of a list, which may be an array or an object keyed by name, at the root or one level down (the vault contract, "The
 * client is a tolerant reader"). An empty list is one only under a name we know: a bare `[]` or `{}` could be anybody's answer, and
 * would read as "everything is gone".
 * @param name what the list is called where it is called by its name: `secrets`, `files`
 * @returns `undefined` when no list can be made out, or more than one could be it
 */
export function findList(
  root: unknown,
  name: string,
  isRecord: (record: JsonObject) => boolean,
): readonly ListEntry[] | undefined {
  const whole = recognised(root, isRecord);
  if (whole || !isObject(root)) return whole;
  if (root.error !== undefined && root.error !== null) return undefined;
  if (Object.hasOwn(root, name)) return entriesOf(root[name]);
  const named = GENERIC_KEYS.filter((key) => typeof root[key] === "object" && root[key] !== null);
  const [only] = named;
  if (only !== undefined && named.length === 1) return entriesOf(root[only]);
  const places = Object.values(root)
    .map((value) => recognised(value, isRecord))
    .filter((entries) => entries !== undefined);
  return places.length === 1 ? places[0] : undefined;
}
