import { isDerived, type SyncItem, type TargetTemplate } from "./sync-resource.ts";
import { shortDigest } from "./target.ts";

/** Increased when a function of templates yields something else for the same input, so that targets are written again. */
const FUNCTIONS_VERSION = 1;

/** Returns what a digest covers of an item; JSON has no `undefined`. */
const instructionOf = ({ property, decoding }: SyncItem): readonly unknown[] => [property ?? null, decoding ?? null];

/**
 * Returns the items with the digest of how the content is made of them, so that a changed instruction rewrites the target although
 * sources and versions are the same. If the content is computed from all items together, each has the digest of all instructions.
 */
export function withForms(items: readonly SyncItem[], template?: TargetTemplate): readonly SyncItem[] {
  const others = template === undefined ? [] : [FUNCTIONS_VERSION, Object.entries(template.data)];
  const common = isDerived({ items, template })
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
