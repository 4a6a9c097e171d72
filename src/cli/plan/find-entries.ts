import { isObjectKey } from "../../operator/api/fields.ts";
import type { FileRecord, SecretRecord } from "../../protocol/responses.ts";
import { LinearRegExp, linearRegExp } from "../../lib/linear-regexp.ts";
import { rewriteKey } from "../../lib/rewrite-key.ts";
import type { PlannedFind, PlannedItem, PlannedResource } from "./planned-resource.ts";

/** The entries that the rules of a resource find, or what is wrong with one. */
interface FoundEntries {
  readonly items: readonly PlannedItem[];
  readonly problems: readonly { readonly path: readonly PropertyKey[]; readonly problem: string }[];
}

function matches({ pattern, metadata }: PlannedFind, record: SecretRecord | FileRecord): boolean {
  const expression = linearRegExp(pattern);
  if (!(expression instanceof LinearRegExp)) return false;
  if ("filename" in record) return expression.test(record.filename);
  const attributes = new Map<string, unknown>(Object.entries(record.metadata));
  const isOf = Object.entries(metadata).every(([name, value]) => value === undefined || attributes.get(name) === value);
  return isOf && expression.test(record.key_name);
}

/** Says that a rule finds nothing; `others` are what it would find if the connection named their creators. */
function noMatch(others: Listed): string {
  const owners = new Set(others.flatMap((record) => ("owner" in record ? record.owner : [])));
  if (owners.size === 0) return "find matches no entry";
  return `find matches no entry: what ${[...owners].join(", ")} shares needs spec.trustedOwners of the connection`;
}

type Listed = readonly (SecretRecord | FileRecord)[];

/** Returns the entries of a list that the rules of a resource find: one item for each name. `all` has those of other creators too. */
export function findEntries({ items, finds }: PlannedResource, records: Listed, all: Listed): FoundEntries {
  const sources = new Map(items.map(({ key, source }) => [key, source]));
  const found: PlannedItem[] = [];
  const problems: { readonly path: readonly PropertyKey[]; readonly problem: string }[] = [];
  for (const find of finds) {
    const { path, rewrite } = find;
    const matching = records.filter((record) => matches(find, record));
    const names = new Set(matching.map((record) => ("filename" in record ? record.filename : record.key_name)));
    if (names.size === 0) problems.push({ path, problem: noMatch(all.filter((record) => matches(find, record))) });
    for (const source of [...names].sort()) {
      const key = rewriteKey(rewrite, source);
      const other = sources.get(key);
      const quoted = JSON.stringify(source);
      if (!isObjectKey(key)) problems.push({ path, problem: `${quoted} makes up no valid key: set rewrite` });
      else if (other !== undefined && other !== source) {
        problems.push({ path, problem: `${quoted} has the key ${key}, which is that of ${JSON.stringify(other)}: set rewrite` });
      } else if (other === undefined || !found.some((one) => one.key === key)) found.push({ key, source, path });
      sources.set(key, source);
    }
  }
  return { items: found, problems };
}
