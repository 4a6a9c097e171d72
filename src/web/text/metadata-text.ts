/** What a metadata value looks like in a text field: text as itself unless it could be taken for JSON, everything else as JSON. */
export function metadataText(value: unknown): string {
  return typeof value === "string" && parsedJson(value) === undefined ? value : JSON.stringify(value);
}

/** The value a text field stands for: JSON where it is some, text otherwise. The inverse of `metadataText`. */
export function metadataValue(text: string): unknown {
  const parsed = parsedJson(text);
  return parsed ? parsed.value : text;
}

/** What JSON looks like at first sight; most text does not, and a failed attempt is dear where there are tens of thousands. */
const LIKE_JSON = /^\s*(?:["{[\d-]|(?:true|false|null)\s*$)/u;

function parsedJson(text: string): { readonly value: unknown } | undefined {
  if (!LIKE_JSON.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch {
    return undefined;
  }
}
