import { isObjectKey } from "../api/fields.ts";
import { LinearRegExp, linearRegExp } from "../lib/linear-regexp.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import { rewriteKey } from "./rewrite-key.ts";
import type { Resolution } from "./resolution.ts";
import type { Find, SyncItem, SyncResource } from "./sync-resource.ts";
import type { SyncedKey } from "./target.ts";

/**
 * Maximum length of the claims of a target, in bytes. The API server limits all annotations of an
 * object to 256 KiB.
 */
const MAX_CLAIM_BYTES = 200 * 1024;
/** Length of the claim of one item without its key and its name. */
const CLAIM_BYTES = 100;

/** The items of a resource, the rules that find none, and the found items that cannot be used. */
export interface FoundItems {
  readonly items: readonly SyncItem[];
  /** The item that gets the key of one whose name is gone, when the removal of that key is due. */
  readonly successors: ReadonlyMap<SyncItem, SyncItem>;
  readonly unmatched: readonly Find[];
  readonly unusable: readonly UnusableItem[];
  /** The rules find too many names: only those that they found earlier are among the items. */
  readonly excess?: ReadyCondition | undefined;
}

/** A found item without a key, and the reason. */
interface UnusableItem {
  readonly item: SyncItem;
  readonly why: string;
}

/**
 * Returns the resolutions of the rules that find no entry, and of the names that rules find and
 * cannot use.
 */
export const unfound = ({
  unmatched,
  unusable,
}: Pick<FoundItems, "unmatched" | "unusable">): readonly Resolution[] => [
  ...unmatched.map(({ id, pattern }) => {
    const item = { id, source: pattern, owner: undefined, version: "latest" } as const;
    return { state: "unmatched", item } as const;
  }),
  ...unusable.map((one) => ({ state: "unusable", ...one }) as const),
];

/**
 * Returns what the claim of an item records about the rule that found it: the operator knows the
 * rule while the list lacks the name.
 */
export const foundText = ({ foundBy, source }: SyncItem): string | undefined =>
  foundBy && `${foundBy.digest}:${source}`;

/** Returns the name that a rule found for a claim, if one did. */
export const foundName = (claim: SyncedKey | undefined): string | undefined =>
  claim?.found?.slice(claim.found.indexOf(":") + 1);

/** Reports whether a name matches the regular expression of a rule. */
export function matchesName({ pattern }: Find, name: string): boolean {
  const expression = linearRegExp(pattern);
  return expression instanceof LinearRegExp && expression.test(name);
}

/** Reports whether the metadata of an entry has what a rule requests; without a rule, it has. */
export function hasMetadata(
  metadata: Readonly<Record<string, unknown>>,
  find: Find | undefined,
): boolean {
  return Object.entries(find?.metadata ?? {}).every(([name, value]) => metadata[name] === value);
}

/** Returns the part of the digest of a rule that identifies the metadata which it requests. */
const metadataIn = (digest: string): string | undefined => digest.split(".")[1];

/** A name that a rule found earlier, and the key that a target has of it. */
export interface EarlierName {
  readonly name: string;
  readonly key: string;
}

/**
 * Returns the names that this rule found, according to the claims of a target. A rule that changed
 * continues with a name that keeps its key if it requests the same metadata: then the vault has
 * changed that. It also does if the list lacks the name, under whatever key: nothing else says
 * whether it would match.
 */
export function claimedKeys(
  find: Find,
  claims: ReadonlyMap<string, SyncedKey>,
  isListed: (name: string) => boolean,
): EarlierName[] {
  return [...claims].flatMap(([key, claim]) => {
    const [digest = "", name] = [claim.found?.split(":")[0], foundName(claim)];
    if (name === undefined) return [];
    if (digest === find.digest || !isListed(name)) return [{ name, key }];
    const isContinued = metadataIn(digest) === metadataIn(find.digest);
    return isContinued && rewriteKey(find.rewrite, name) === key ? [{ name, key }] : [];
  });
}

/** Returns the same names without their keys. */
export const claimedNames = (...claimed: Parameters<typeof claimedKeys>): string[] =>
  claimedKeys(...claimed).map(({ name }) => name);

const itemOf = (find: Find, source: string, key?: string): SyncItem => ({
  id: key ?? rewriteKey(find.rewrite, source),
  source,
  owner: undefined,
  version: "latest",
  foundBy: find,
  ...(find.form !== undefined && { form: find.form }),
});

/**
 * A listed name that a rule finds; `own` if the account of the connection created an entry of that
 * name.
 */
export interface FoundName {
  readonly name: string;
  readonly own: boolean;
}

/** A name that a rule finds or found, with the key that it makes. */
interface Claimant extends FoundName {
  readonly item: SyncItem;
  readonly isListed: boolean;
}

/** The names that rules find and found. */
interface Names {
  /** The names that a rule finds now. */
  readonly now: (find: Find) => Iterable<FoundName>;
  /** The names that it found earlier. */
  readonly earlier: (find: Find) => Iterable<EarlierName>;
  /** The name whose value the target has under a key. */
  readonly served: (key: string) => string | undefined;
}

/**
 * Returns which of several names has the key that they all make; `undefined`: none. A name that is
 * gone keeps the key that serves its value: the list may be incomplete. Otherwise, an own entry
 * comes before received ones, and a received entry never takes a key from a name that has it.
 */
function holderOf(
  claimants: readonly Claimant[],
  served: string | undefined,
): Claimant | undefined {
  const having = claimants.find(({ name }) => name === served);
  if (having?.isListed === false) return having;
  const own = claimants.filter((one) => one.own);
  if (own.length === 1) return own[0];
  const listed = claimants.filter(({ isListed }) => isListed);
  const only = listed.length > 1 ? undefined : (listed[0] ?? claimants[0]);
  return having ?? only;
}

const quoted = (name: string): string => JSON.stringify(name);

/** Says why a name has no key. */
function whyUnusable({ id, source, foundBy }: SyncItem, holder: string | undefined): string {
  const found = `${foundBy?.id} finds ${quoted(source)}`;
  if (isObjectKey(id)) {
    const other =
      holder === undefined ? `is that of several names` : `is that of ${quoted(holder)}`;
    return `${found}, but the key ${id} ${other}: set rewrite`;
  }
  const key = id === source ? "which" : `whose key ${quoted(id)}`;
  return `${found}, ${key} is not a valid key of letters, digits, '-', '_' and '.': set rewrite`;
}

/** Returns the listed names among these; another name has the key that they make. */
function withoutKey(
  claimants: readonly Claimant[],
  holderOfKey: (key: string) => string | undefined,
): UnusableItem[] {
  return claimants
    .filter(({ isListed }) => isListed)
    .map(({ item }) => ({ item, why: whyUnusable(item, holderOfKey(item.id)) }));
}

/**
 * Returns the names that a rule finds or found. One that is gone keeps the key that a target has of
 * it, whatever key the rule would make now: its bytes are under no other one.
 */
function claimantsOf(find: Find, { now, earlier }: Names): Claimant[] {
  const listed = [...now(find)].sort((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Set(listed.map(({ name }) => name));
  // An edited annotation must not make the operator read what the spec does not request.
  const gone = [...earlier(find)].filter(({ name }) => !names.has(name) && matchesName(find, name));
  return [
    ...listed.map((one) => ({ ...one, isListed: true, item: itemOf(find, one.name) })),
    ...gone.map(({ name, key }) => ({
      name,
      own: false,
      isListed: false,
      item: itemOf(find, name, key),
    })),
  ];
}

/**
 * Returns the items of a resource: those that its spec names, those that its rules find in the
 * list, and those that its rules found earlier and that are gone. A name without a key is omitted;
 * all other names are used. Pure and total.
 */
export function findItems(
  { items, finds }: Pick<SyncResource, "items" | "finds">,
  names: Names,
): FoundItems {
  const all = findAll({ items, finds }, names);
  const excess = tooMany(all.items);
  if (excess === undefined) return all;
  const only: Names = {
    ...names,
    now: (find) => {
      const earlier = new Set([...names.earlier(find)].map(({ name }) => name));
      return [...names.now(find)].filter(({ name }) => earlier.has(name));
    },
  };
  return { ...findAll({ items, finds }, only), excess };
}

function findAll(
  { items, finds }: Pick<SyncResource, "items" | "finds">,
  names: Names,
): Omit<FoundItems, "excess"> {
  const found = new Map(
    items.filter(({ foundBy }) => foundBy === undefined).map((item) => [item.id, item]),
  );
  const byFind = new Map(finds.map((find) => [find, claimantsOf(find, names)]));
  const unmatched = finds.filter((find) => byFind.get(find)?.length === 0);
  const claimants = [...byFind.values()].flat();
  const isUsable = ({ item }: Claimant): boolean => isObjectKey(item.id) && !found.has(item.id);
  const unusable = withoutKey(
    claimants.filter((one) => !isUsable(one)),
    (key) => found.get(key)?.source,
  );
  const successors = new Map<SyncItem, SyncItem>();
  for (const [key, all] of Map.groupBy(claimants.filter(isUsable), ({ item }) => item.id)) {
    // Two rules may find the same name.
    const group = all.filter(({ name }, at) => all.findIndex((one) => one.name === name) === at);
    const holder = holderOf(group, names.served(key));
    if (holder !== undefined) found.set(key, holder.item);
    const listed = group.filter(({ isListed }) => isListed);
    const next = holder?.isListed === false ? holderOf(listed, undefined) : undefined;
    if (holder !== undefined && next !== undefined) successors.set(holder.item, next.item);
    const others = group.filter((one) => one !== holder && one !== next);
    unusable.push(...withoutKey(others, () => holder?.name));
  }
  return { items: [...found.values()], successors, unmatched, unusable };
}

/** Returns the condition for more items than the annotations of a target can name. */
function tooMany(items: readonly SyncItem[]): ReadyCondition | undefined {
  const names = items.map(
    ({ id, source, foundBy }) =>
      2 * id.length + (foundBy === undefined ? 0 : Buffer.byteLength(source)),
  );
  const bytes = names.reduce((sum, length) => sum + length + CLAIM_BYTES, 0);
  if (bytes <= MAX_CLAIM_BYTES) return undefined;
  const message = `the target would have ${items.length} keys, whose names are too long for the annotations of one object: narrow find`;
  return notReady(
    "TooLarge",
    `${message}, or split it over several resources; the target is left unchanged`,
  );
}

/**
 * Identifies the metadata that a rule requests: equal for rules that request the same, `undefined`
 * if it requests none.
 */
export function metadataRule({ metadata }: Pick<Find, "metadata">): string | undefined {
  const attributes = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return attributes.length === 0 ? undefined : JSON.stringify(attributes);
}
