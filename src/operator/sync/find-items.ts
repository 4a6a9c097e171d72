import { isObjectKey } from "../api/fields.ts";
import { LinearRegExp, linearRegExp } from "../../lib/linear-regexp.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { rewriteKey } from "../../lib/rewrite-key.ts";
import type { Find, SyncItem, SyncResource } from "./sync-resource.ts";
import type { SyncedKey } from "./target.ts";

/**
 * Maximum length of the claims of a target, in bytes. The API server limits all annotations of an object to 256 KiB.
 */
const MAX_CLAIM_BYTES = 200 * 1024;
/** Length of the claim of one item without its key and its name. */
const CLAIM_BYTES = 100;

/** The items of a resource, and the rules that find none. */
export interface FoundItems {
  readonly items: readonly SyncItem[];
  readonly unmatched: readonly Find[];
}

/** Returns what the claim of an item records about the rule that found it, so that it is known while the list lacks the name. */
export const foundText = ({ foundBy, source }: SyncItem): string | undefined => foundBy && `${foundBy.digest}:${source}`;

/** Reports whether a name matches the regular expression of a rule. */
export function matchesName({ pattern }: Find, name: string): boolean {
  const expression = linearRegExp(pattern);
  return expression instanceof LinearRegExp && expression.test(name);
}

/**
 * Returns the names that this rule found, according to the claims of a target. A rule that changed continues with a name that the
 * list lacks, if the name keeps its key: nothing else says whether it would match. What the list has, the rule finds itself.
 */
export function claimedNames(find: Find, claims: ReadonlyMap<string, SyncedKey>, isListed: (name: string) => boolean): string[] {
  return [...claims].flatMap(([id, { found }]) => {
    if (found === undefined) return [];
    const colon = found.indexOf(":");
    const name = found.slice(colon + 1);
    const isSameRule = found.slice(0, colon) === find.digest;
    return isSameRule || (!isListed(name) && rewriteKey(find.rewrite, name) === id) ? [name] : [];
  });
}

const itemOf = (find: Find, source: string): SyncItem => ({
  id: rewriteKey(find.rewrite, source),
  source,
  owner: undefined,
  version: "latest",
  foundBy: find,
  ...(find.form !== undefined && { form: find.form }),
});

/** Returns what is wrong with the key of a found item; `other` has the same one. */
function problemOf({ id, source, foundBy }: SyncItem, other: SyncItem | undefined): ReadyCondition | undefined {
  const place = foundBy?.id ?? "";
  if (!isObjectKey(id)) {
    const key = id === source ? "which" : `whose key ${JSON.stringify(id)}`;
    const message = `${place} finds ${JSON.stringify(source)}, ${key} is not a valid key of letters, digits, '-', '_' and '.': set rewrite`;
    return notReady("InvalidKey", `${message}; the target is left unchanged`);
  }
  if (other === undefined) return undefined;
  const message = `${place} finds ${JSON.stringify(source)}, but the key ${id} is that of ${JSON.stringify(other.source)}: set rewrite`;
  return notReady("InvalidKey", `${message}; the target is left unchanged`);
}

/** The names that rules find now, and those that they found earlier. */
interface Names {
  readonly now: (find: Find) => Iterable<string>;
  readonly earlier: (find: Find) => Iterable<string>;
}

/**
 * Returns the items of a resource: those that its spec names, those that its rules find in the list, and those that they found
 * earlier and that are gone. Returns the condition instead if a found name has no key of its own. Pure and total.
 */
export function findItems(
  { items, finds }: Pick<SyncResource, "items" | "finds">,
  { now, earlier }: Names,
): FoundItems | ReadyCondition {
  const found = new Map(items.filter(({ foundBy }) => foundBy === undefined).map((item) => [item.id, item]));
  const unmatched: Find[] = [];
  const gone: SyncItem[] = [];
  for (const find of finds) {
    const names = new Set([...now(find)].sort());
    // An edited annotation must not make the operator read what the spec does not request.
    const lost = [...earlier(find)].filter((name) => !names.has(name) && matchesName(find, name));
    if (names.size + lost.length === 0) unmatched.push(find);
    gone.push(...lost.map((name) => itemOf(find, name)));
    for (const name of names) {
      const item = itemOf(find, name);
      const other = found.get(item.id);
      // Two rules may find the same name.
      if (other?.foundBy !== undefined && other.source === name) continue;
      const problem = problemOf(item, other);
      if (problem !== undefined) return problem;
      found.set(item.id, item);
    }
  }
  // The key of a name that is gone may have become that of another one.
  for (const item of gone) if (!found.has(item.id)) found.set(item.id, item);
  return tooMany([...found.values()]) ?? { items: [...found.values()], unmatched };
}

/** Returns the condition for more items than the annotations of a target can name. */
function tooMany(items: readonly SyncItem[]): ReadyCondition | undefined {
  const names = items.map(({ id, source, foundBy }) => 2 * id.length + (foundBy === undefined ? 0 : Buffer.byteLength(source)));
  const bytes = names.reduce((sum, length) => sum + length + CLAIM_BYTES, 0);
  if (bytes <= MAX_CLAIM_BYTES) return undefined;
  const message = `the target would have ${items.length} keys, whose names are too long for the annotations of one object: narrow find`;
  return notReady("TooLarge", `${message}, or split it over several resources; the target is left unchanged`);
}
