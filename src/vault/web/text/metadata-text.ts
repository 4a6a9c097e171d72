/** Labels of the standard names of metadata. */
const labels: Readonly<Record<string, string>> = {
  description: "Description",
  environment_type: "Environment",
  classification: "Classification",
  cloud_type: "Cloud",
  application_type: "Application",
  expiration_time: "Expires after",
};

/** Returns the pages' own word for a metadata name; custom names are their own. */
export function metadataLabel(name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? name) : name;
}

/**
 * Formats a metadata value for a text field: as JSON, except for text that does not parse as JSON
 * without a loss.
 */
export function metadataText(value: unknown): string {
  return typeof value === "string" && parsedJson(value) === undefined
    ? value
    : JSON.stringify(value);
}

/**
 * Parses the text of a field as JSON, or returns it unchanged when it is not JSON. The inverse of
 * `metadataText`.
 */
export function metadataValue(text: string): unknown {
  const parsed = parsedJson(text);
  return parsed ? parsed.value : text;
}

/** Reports whether a text starts like a JSON object or list but is not one. */
export function isBrokenJson(text: string): boolean {
  return /^\s*[[{]/u.test(text) && parsedJson(text) === undefined;
}

/**
 * Cheap check before `JSON.parse`: throwing for each of tens of thousands of plain texts would be
 * slow.
 */
const LIKE_JSON = /^\s*(?:["{[\d-]|(?:true|false|null)\s*$)/u;

/** Reports a number that JSON can write and a double cannot hold, such as a long account number. */
function hasInexactNumber(value: unknown): boolean {
  if (typeof value === "number")
    return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value));
  return typeof value === "object" && value !== null && Object.values(value).some(hasInexactNumber);
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  if (!LIKE_JSON.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return hasInexactNumber(value) ? undefined : { value };
  } catch {
    return undefined;
  }
}
