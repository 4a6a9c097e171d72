import { contentOfJson, isObjectText, partsOfJson, selectJson } from "./json-text.ts";
import { InvalidJsonError, parseStrictJson } from "../../lib/strict-json.ts";
import { notReady, type ReadyCondition } from "./ready-condition.ts";
import type { SyncItem } from "./sync-resource.ts";

/** Maximum nesting of a JSON value. */
const MAX_DEPTH = 64;

const invalid = (message: string): ReadyCondition => notReady("InvalidProperty", message);

/** Returns the text of a JSON value, or the condition for one that is no JSON. */
function jsonText(source: string, bytes: Uint8Array): string | ReadyCondition {
  try {
    parseStrictJson(bytes, { maxDepth: MAX_DEPTH });
    return new TextDecoder().decode(bytes);
  } catch (error) {
    if (error instanceof InvalidJsonError)
      return invalid(`${source}: the value is ${error.message}`);
    throw error;
  }
}

const asBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function selectProperty(
  { source, property = "" }: SyncItem,
  bytes: Uint8Array,
): Uint8Array | ReadyCondition {
  const text = jsonText(source, bytes);
  if (typeof text !== "string") return text;
  const selected = selectJson(text, property);
  if (selected === undefined) return invalid(`${source}: the value has nothing at ${property}`);
  if (selected === "ambiguous")
    return invalid(`${source}: the value has several members at ${property}`);
  const content = contentOfJson(selected.text);
  return content.isWellFormed()
    ? asBytes(content)
    : invalid(`${source}: the text at ${property} is not valid Unicode`);
}

const alphabets = { Base64: /^[A-Za-z0-9+/]*$/, Base64URL: /^[-A-Za-z0-9_]*$/ } as const;

/**
 * Decodes base64 with or without padding, and with line breaks. Returns `undefined` if it is
 * malformed.
 */
export function decodeBase64(
  bytes: Uint8Array,
  decoding: keyof typeof alphabets = "Base64",
): Uint8Array | undefined {
  const text = Buffer.from(bytes)
    .toString("latin1")
    .replace(/[\t\n\r ]/g, "");
  const unpadded = text.replace(/={1,2}$/, "");
  const isPadded = unpadded.length < text.length;
  const isComplete = unpadded.length % 4 !== 1 && (!isPadded || text.length % 4 === 0);
  return isComplete && alphabets[decoding].test(unpadded)
    ? Buffer.from(unpadded, "base64url")
    : undefined;
}

/**
 * Returns what a target stores of the bytes of a source, or the condition for bytes that do not
 * have it. Total.
 */
export function transform(item: SyncItem, bytes: Uint8Array): Uint8Array | ReadyCondition {
  const { source, property, decoding } = item;
  const selected = property === undefined ? bytes : selectProperty(item, bytes);
  if (decoding === undefined || !(selected instanceof Uint8Array)) return selected;
  const at = property === undefined ? "the value" : `the value at ${property}`;
  return decodeBase64(selected, decoding) ?? invalid(`${source}: ${at} is not valid ${decoding}`);
}

/**
 * Returns the members of a JSON object, or the condition for anything else. Names are part of the
 * value: no condition contains a name. Total.
 */
export function extract(
  { source }: SyncItem,
  bytes: Uint8Array,
): readonly [string, Uint8Array][] | ReadyCondition {
  const text = jsonText(source, bytes);
  if (typeof text !== "string") return text;
  if (!isObjectText(text))
    return invalid(`${source}: the value is not a JSON object, of which each member becomes a key`);
  const members: [string, Uint8Array][] = [];
  for (const [name, value] of partsOfJson(text) ?? []) {
    const content = contentOfJson(value);
    if (!content.isWellFormed())
      return invalid(`${source}: the text of member ${members.length + 1} is not valid Unicode`);
    members.push([name, asBytes(content)]);
  }
  return members;
}
