import { isEqualJson, isJson, type Json } from "./json.ts";

/**
 * The fields of an object that have owners, each as a path such as `.data.password`, with its
 * value.
 */
type Fields = ReadonlyMap<string, { readonly path: readonly string[]; readonly value: unknown }>;
/**
 * The paths that each manager owns. The name of a manager starts with `Apply` or `Update`: one
 * client may be both.
 */
export type Owners = ReadonlyMap<string, ReadonlySet<string>>;

/** Metadata that the server sets, without an owner. */
const SYSTEM_METADATA = new Set([
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "generateName",
]);
/** Objects that are set as a whole (`x-kubernetes-map-type: atomic`). */
const ATOMIC = new Set([".regarding"]);

/**
 * Returns the fields of an object by path. Lists are one field, except owner references (by uid)
 * and finalizers.
 */
function fieldsOf(object: Json): Fields {
  const fields = new Map<string, { path: readonly string[]; value: unknown }>();
  const visit = (value: unknown, path: readonly string[], name: string): void => {
    if (isJson(value) && !ATOMIC.has(name)) {
      for (const [key, part] of Object.entries(value))
        visit(part, [...path, key], `${name}.${key}`);
    } else if (value !== undefined) fields.set(name, { path, value });
  };
  for (const [key, value] of Object.entries(object)) {
    if (key === "apiVersion" || key === "kind") continue;
    if (key !== "metadata" || !isJson(value)) {
      visit(value, [key], `.${key}`);
      continue;
    }
    for (const [field, part] of Object.entries(value)) {
      if (field === "ownerReferences" && Array.isArray(part)) {
        for (const reference of part as { uid: string }[]) {
          const name = `.metadata.ownerReferences[uid="${reference.uid}"]`;
          fields.set(name, {
            path: ["metadata", "ownerReferences", reference.uid],
            value: reference,
          });
        }
      } else if (field === "finalizers" && Array.isArray(part)) {
        for (const finalizer of part as string[]) {
          fields.set(`.metadata.finalizers["${finalizer}"]`, {
            path: ["metadata", "finalizers", finalizer],
            value: finalizer,
          });
        }
      } else if (!SYSTEM_METADATA.has(field))
        visit(part, ["metadata", field], `.metadata.${field}`);
    }
  }
  return fields;
}

/** Reports whether two objects surely have the same fields: they differ only in single values. */
function hasSameFields(before: Json, after: Json): boolean {
  if (before === after) return true;
  const names = Object.keys(after);
  if (names.length !== Object.keys(before).length) return false;
  return names.every((name) => {
    const [was, is] = [before[name], after[name]];
    if (isJson(was) && isJson(is)) return hasSameFields(was, is);
    return was === is || (isSingle(was) && isSingle(is));
  });
}

const isSingle = (value: unknown): boolean => typeof value !== "object" && value !== undefined;

interface ManagedFields {
  readonly operation: string;
  readonly manager: string;
  readonly subresource?: string;
}

/** Returns the `managedFields` of these owners without the fields. */
export function managersIn(owners: Owners): ManagedFields[] {
  return [...owners.keys()].map((name) => {
    const [operation = "", manager = "", subresource] = name.split(" ");
    return { manager, operation, ...(subresource !== undefined && { subresource }) };
  });
}

/**
 * Returns the owners that the `managedFields` of an update list; all if it has none. An empty list
 * counts as none.
 */
export function ownersListed(owners: Owners, { metadata }: Json): Owners {
  const listed = isJson(metadata) ? metadata["managedFields"] : undefined;
  if (!Array.isArray(listed) || listed.length === 0) return owners;
  const names = new Set(
    (listed as ManagedFields[]).map((one) =>
      [one.operation, one.manager, one.subresource ?? []].flat().join(" "),
    ),
  );
  return new Map([...owners].filter(([name]) => names.has(name)));
}

/**
 * Returns the owners after `manager` replaced `before` by `after`: it owns the changes, and what is
 * gone has no owner.
 */
export function ownersAfterUpdate(
  owners: Owners,
  manager: string,
  before: Json | undefined,
  after: Json,
): Owners {
  if (before && owners.size === 1 && owners.has(manager) && hasSameFields(before, after))
    return owners;
  const old = fieldsOf(before ?? {});
  const now = fieldsOf(after);
  const changed = new Set<string>();
  for (const [path, { value }] of now)
    if (!old.has(path) || !isEqualJson(old.get(path)?.value, value)) changed.add(path);
  const result = new Map<string, ReadonlySet<string>>();
  for (const [name, paths] of owners) {
    const kept = [...paths].filter(
      (path) => now.has(path) && (name === manager || !changed.has(path)),
    );
    if (kept.length > 0) result.set(name, new Set(kept));
  }
  if (changed.size > 0) result.set(manager, new Set([...(result.get(manager) ?? []), ...changed]));
  return result;
}

export interface Applied {
  readonly object: Json;
  readonly owners: Owners;
  /** Paths that another manager owns with another value; nothing may be written unless forced. */
  readonly conflicts: readonly { readonly path: string; readonly manager: string }[];
}

/**
 * Merges the fields of `patch` into `live`. Removes the fields that `manager` applied before and
 * now omits.
 */
export function applyFields(live: Json, owners: Owners, manager: string, patch: Json): Applied {
  const wanted = fieldsOf(patch);
  const current = fieldsOf(live);
  const object = JSON.parse(JSON.stringify(live)) as Json;
  const changed = [...wanted]
    .filter(([path, { value }]) => !isEqualJson(current.get(path)?.value, value))
    .map(([path]) => path);
  const others = [...owners].filter(([name]) => name !== manager);
  const conflicts = others.flatMap(([name, paths]) =>
    changed
      .filter((path) => paths.has(path))
      .map((path) => ({ path, manager: name.replace(/^\w+ /, "") })),
  );
  for (const path of owners.get(manager) ?? []) {
    const field = current.get(path);
    if (field && !wanted.has(path) && !others.some(([, paths]) => paths.has(path)))
      removeField(object, field.path);
  }
  for (const path of changed) setField(object, wanted.get(path)!.path, wanted.get(path)!.value);
  const result = new Map<string, ReadonlySet<string>>(
    wanted.size > 0 ? [[manager, new Set(wanted.keys())]] : [],
  );
  const isChanged = new Set(changed);
  for (const [name, paths] of others) {
    const kept = [...paths].filter((path) => !isChanged.has(path));
    if (kept.length > 0) result.set(name, new Set(kept));
  }
  return { object, owners: result, conflicts };
}

function setField(object: Json, path: readonly string[], value: unknown): void {
  const [first = "", second = "", ...rest] = path;
  if (first === "metadata" && isList(second)) {
    const metadata = (object["metadata"] ??= {}) as Json;
    metadata[second] = [
      ...itemsOf(metadata[second]).filter((item) => keyOfItem(item) !== rest[0]),
      value,
    ];
    return;
  }
  let parent = object;
  for (const name of path.slice(0, -1)) {
    const found = parent[name];
    const next: Json = isJson(found) ? found : {};
    parent[name] = next;
    parent = next;
  }
  parent[path.at(-1)!] = value;
}

function removeField(object: Json, path: readonly string[]): void {
  const [first = "", second = "", ...rest] = path;
  if (first === "metadata" && isList(second)) {
    const metadata = object["metadata"] as Json;
    metadata[second] = itemsOf(metadata[second]).filter((item) => keyOfItem(item) !== rest[0]);
    return;
  }
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((at, name) => (isJson(at) ? at[name] : undefined), object);
  if (!isJson(parent)) return;
  delete parent[path.at(-1)!];
  if (Object.keys(parent).length === 0 && path.length > 1) removeField(object, path.slice(0, -1));
}

/** Reports whether two sets of owners are equal. */
export function isSameOwners(a: Owners, b: Owners): boolean {
  if (a === b) return true;
  const listOf = (owners: Owners): string[] =>
    [...owners].map(([name, paths]) => `${name} ${[...paths].sort().join(" ")}`).sort();
  return isEqualJson(listOf(a), listOf(b));
}

const isList = (field: string): boolean => field === "ownerReferences" || field === "finalizers";
const itemsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const keyOfItem = (item: unknown): unknown => (isJson(item) ? item["uid"] : item);
