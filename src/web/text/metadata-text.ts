/** What a metadata value looks like in a text field: text as itself unless it could be taken for JSON, everything else as JSON. */
export function metadataText(value: unknown): string {
  return typeof value === "string" && parsedJson(value) === undefined ? value : JSON.stringify(value);
}

/** The value a text field stands for: JSON where it is some, text otherwise. The inverse of `metadataText`. */
export function metadataValue(text: string): unknown {
  const parsed = parsedJson(text);
  return parsed ? parsed.value : text;
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return { value };
  } catch {
    return undefined;
  }
}
