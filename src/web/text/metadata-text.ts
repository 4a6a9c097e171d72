/** Formats a metadata value for a text field: as JSON, except for text that does not parse as JSON. */
export function metadataText(value: unknown): string {
  return typeof value === "string" && parsedJson(value) === undefined ? value : JSON.stringify(value);
}

/** Parses the text of a field as JSON, or returns it unchanged when it is not JSON. The inverse of `metadataText`. */
export function metadataValue(text: string): unknown {
  const parsed = parsedJson(text);
  return parsed ? parsed.value : text;
}

/** Reports whether a text starts like a JSON object or list and is none. */
export function isBrokenJson(text: string): boolean {
  return /^\s*[[{]/u.test(text) && parsedJson(text) === undefined;
}

/** Cheap check before `JSON.parse`: throwing for each of tens of thousands of plain texts would be slow. */
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
