import { isDerived, type SyncItem } from "./sync-resource.ts";
import { shortDigest } from "./target.ts";

/** Returns what a digest covers of an item; JSON has no `undefined`. */
const instructionOf = ({ property, decoding }: SyncItem): readonly unknown[] => [property ?? null, decoding ?? null];

/**
 * Returns the items with the digest of how the content is made of them, so that a changed instruction rewrites the target although
 * sources and versions are the same. If the content is computed from all items together, each has the digest of all instructions;
 * `others` are those that concern no single item.
 */
export function withForms(items: readonly SyncItem[], ...others: readonly unknown[]): readonly SyncItem[] {
  const common = isDerived({ items })
    ? shortDigest([
        items.map((item) => [item.id, item.isExtracted === true, ...instructionOf(item), item.rewrite ?? []]),
        ...others,
      ])
    : undefined;
  return items.map((item) => {
    const isPlain = item.property === undefined && item.decoding === undefined;
    const form = common ?? (isPlain ? undefined : shortDigest(instructionOf(item)));
    return form === undefined ? item : { ...item, form };
  });
}
