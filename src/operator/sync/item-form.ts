import {
  type Find,
  isDerived,
  type SyncItem,
  type SyncResource,
  type TargetTemplate,
} from "./sync-resource.ts";
import { shortDigest } from "./target.ts";

/**
 * Increased when a function of templates yields something else for the same input: the operator
 * then writes the targets again.
 */
const FUNCTIONS_VERSION = 1;

/** Returns what a digest covers of an item; JSON has no `undefined`. */
const instructionOf = ({ property, decoding }: SyncItem): readonly unknown[] => [
  property ?? null,
  decoding ?? null,
];

/** Returns the digest of a rule, by which a target recognizes what it found. */
export function findDigest({
  pattern,
  metadata,
  rewrite,
}: Pick<Find, "pattern" | "metadata" | "rewrite">): string {
  const attributes = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  const digest = shortDigest([pattern, attributes, rewrite]);
  return attributes.length === 0 ? digest : `${digest}.${shortDigest(attributes)}`;
}

/**
 * Returns the digest of the rules that the values of items and the keys of a template must fit: a
 * target with it has bytes that fit them.
 */
function contractDigest(
  items: readonly SyncItem[],
  ofKeys: TargetTemplate["contracts"] = {},
): string | undefined {
  const ofItems = items.flatMap(({ id, contract }) =>
    contract === undefined ? [] : [items.length === 1 ? contract : [id, contract]],
  );
  const rules = [...ofItems, ...Object.entries(ofKeys)];
  return rules.length === 0 ? undefined : shortDigest(rules);
}

/** Returns the form of content, with the digest of the rules that it must fit. */
const formOf = (made: string | undefined, contracts: string | undefined): string | undefined =>
  contracts === undefined ? made : `${made ?? ""}.${contracts}`;

/**
 * Returns the part of a form that says how the content is made: bytes of two forms with the same
 * part differ in the rules that they fit only.
 */
export const madeBy = (form: string | undefined): string => form?.split(".")[0] ?? "";

/**
 * Reports whether bytes were made in another way than the spec of an item says, and are not the
 * unchanged value of a source.
 */
export const isOfOtherSpec = (
  { form }: Pick<SyncItem, "form">,
  claim: { readonly form?: string | undefined } | undefined,
): boolean => !["", madeBy(form)].includes(madeBy(claim?.form));

/** The sources that a spec requests. */
type Requested = Pick<SyncResource, "items" | "finds">;

/**
 * Returns the items with the digest of how the content is made of them: a changed instruction
 * rewrites the target even if sources and versions are the same. If the content is computed from
 * all items together, each has the digest of all instructions.
 */
export function withForms({ items, finds }: Requested, template?: TargetTemplate): Requested {
  const others = template === undefined ? [] : [FUNCTIONS_VERSION, Object.entries(template.data)];
  const common = isDerived({ items, template })
    ? shortDigest([
        items.map((item) => [
          item.id,
          item.isExtracted === true,
          ...instructionOf(item),
          item.rewrite ?? [],
        ]),
        ...finds.map(({ digest }) => digest),
        ...others,
      ])
    : undefined;
  if (common !== undefined) {
    const form = formOf(common, contractDigest(items, template?.contracts));
    return {
      items: items.map((item) => ({ ...item, form })),
      finds: finds.map((find) => ({ ...find, form })),
    };
  }
  return {
    items: items.map((item) => {
      const isPlain = item.property === undefined && item.decoding === undefined;
      const made = isPlain ? undefined : shortDigest(instructionOf(item));
      const form = formOf(made, contractDigest([item]));
      return form === undefined ? item : { ...item, form };
    }),
    finds,
  };
}
