import { isObjectKey } from "../api/fields.ts";
import type { Content } from "./content.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { missingKeys, requiresKeys } from "./required-keys.ts";
import { rewriteKey } from "./rewrite-key.ts";
import { isDerived, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { extract, transform } from "./transform.ts";

/** The bytes of the source of one item. */
export interface Input {
  readonly item: SyncItem;
  readonly bytes: Uint8Array;
  readonly version: number;
  /** The target has this version already: it fitted the same rules then. */
  readonly isServed?: boolean;
}

/**
 * Returns the items that a key of the target is made of, as far as the spec shows: the names of
 * members are only known with the value, and a template may use every item.
 */
export function inputsOf(
  { items, template }: Pick<SyncResource, "items" | "template">,
  key: string,
): readonly SyncItem[] {
  if (template !== undefined) return items;
  const only = items.find(({ id }) => id === key);
  return only === undefined ? items.filter(({ isExtracted }) => isExtracted === true) : [only];
}

/**
 * A value that an input contributes. `place` names it in messages: the names of extracted members
 * are part of a value.
 */
interface Part {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly place: string;
}

/**
 * Returns the condition for an object whose version would take all of its keys from the target: a
 * fault is likelier than an intention.
 */
const withoutMembers = ({ item: { source }, version }: Input): ReadyCondition =>
  notReady(
    "InvalidProperty",
    `version ${version} of ${source} is a JSON object without members, so it makes up no key: store a version with members, or remove the entry from spec.dataFrom`,
  );

function partsOf(input: Input): readonly Part[] | ReadyCondition {
  const { item, bytes } = input;
  if (item.isExtracted === true) {
    const members = extract(item, bytes);
    if ("reason" in members) return members;
    if (members.length === 0) return withoutMembers(input);
    return members.map(([name, value], index) => ({
      key: rewriteKey(item.rewrite ?? [], name),
      bytes: value,
      place: `member ${index + 1} of ${item.source}`,
    }));
  }
  const value = transform(item, bytes);
  return value instanceof Uint8Array
    ? [{ key: item.id, bytes: value, place: `the key ${item.id}` }]
    : value;
}

/**
 * Returns the values of all inputs by name, or the condition for inputs that do not have them or
 * have several of one name.
 */
function valuesOf(inputs: readonly Input[]): Content | ReadyCondition {
  const places = new Map<string, string>();
  const content = new Map<string, Uint8Array>();
  for (const input of inputs) {
    const parts = partsOf(input);
    if ("reason" in parts) return parts;
    for (const { key, bytes, place } of parts) {
      const earlier = places.get(key);
      if (earlier !== undefined) {
        const message = `${earlier} and ${place} make up the same key of the target: rename one of them, or set rewrite`;
        return notReady("InvalidKey", message);
      }
      if (!isObjectKey(key)) {
        const message = `${place} does not make up a valid key of letters, digits, '-', '_' and '.': rename it, or set rewrite`;
        return notReady("InvalidKey", message);
      }
      places.set(key, place);
      content.set(key, bytes);
    }
  }
  return content;
}

/**
 * Computes content from the bytes of sources, or returns the condition that explains why there is
 * none. Pure and total. Derived content needs all sources of the target; with a template, the
 * result is the variables.
 */
export function derive(resource: SyncResource, inputs: readonly Input[]): Content | ReadyCondition {
  const content = valuesOf(inputs);
  if ("reason" in content || resource.template !== undefined || !isDerived(resource))
    return content;
  const missing = missingKeys(resource, content.keys());
  if (missing.length === 0) return content;
  return notReady(
    "InvalidKey",
    `${requiresKeys(resource, missing)}, which its sources do not have`,
  );
}
