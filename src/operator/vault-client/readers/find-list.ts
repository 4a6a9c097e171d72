import { isObject, type JsonObject } from "../../../lib/is-object.ts";

/** One entry of a list, and its key if the list is an object keyed by name. */
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

/** Returns the entries of a list under an unknown name: it must be non-empty and consist of records. */
function recognized(list: unknown, isRecord: (record: JsonObject) => boolean): ListEntry[] | undefined {
  const entries = entriesOf(list);
  return entries && entries.length > 0 && entries.every(({ record }) => isRecord(record)) ? entries : undefined;
}

/**
 * Returns the entries of a list: an array or an object keyed by name, at the root or one level down
 * (docs/design/vault-contract.md#tolerant-reader). An empty list counts only under a known name: a bare `[]` or `{}` may be any
 * response, and would read as "everything was deleted".
 * @param name name of the list, `secrets` or `files`
 * @returns `undefined` when no list is found, or several could be it
 */
export function findList(
  root: unknown,
  name: string,
  isRecord: (record: JsonObject) => boolean,
): readonly ListEntry[] | undefined {
  const whole = recognized(root, isRecord);
  if (whole || !isObject(root)) return whole;
  if (root.error !== undefined && root.error !== null) return undefined;
  if (Object.hasOwn(root, name)) return entriesOf(root[name]);
  const named = GENERIC_KEYS.filter((key) => typeof root[key] === "object" && root[key] !== null);
  const [only] = named;
  if (only !== undefined && named.length === 1) return entriesOf(root[only]);
  const candidates = Object.values(root)
    .map((value) => recognized(value, isRecord))
    .filter((entries) => entries !== undefined);
  return candidates.length === 1 ? candidates[0] : undefined;
}
