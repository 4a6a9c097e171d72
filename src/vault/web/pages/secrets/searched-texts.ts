import type { SecretRecord } from "../../../../protocol/responses.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { folded } from "../../text/search.ts";

/** Texts by list. Kept, because each keystroke searches up to ten thousand secrets. */
const searchedTexts = new WeakMap<readonly SecretRecord[], readonly (readonly string[])[]>();

/** Returns a function that folds metadata, each value of a name once: most secrets have the same. */
function metadataFolding(): (name: string, value: unknown) => string {
  const known = new Map<string, Map<unknown, string>>();
  return (name, value) => {
    const former = known.get(name)?.get(value);
    if (former !== undefined) return former;
    const text = folded(`${name}:${metadataText(value)}`);
    known.set(name, (known.get(name) ?? new Map<unknown, string>()).set(value, text));
    return text;
  };
}

/** Returns what a search reads of each secret, folded: its name, its owner and its metadata. */
export function textsOf(secrets: readonly SecretRecord[]): readonly (readonly string[])[] {
  const known = searchedTexts.get(secrets);
  if (known) return known;
  const foldedMetadata = metadataFolding();
  const texts = secrets.map(({ key_name: name, owner, metadata }) => [
    folded(name),
    folded(owner),
    ...Object.keys(metadata).map((key) => foldedMetadata(key, metadata[key])),
  ]);
  searchedTexts.set(secrets, texts);
  return texts;
}
