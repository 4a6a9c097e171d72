/** Number of strings of a generation. */
const GENERATION = 2_000;
/** Longer strings hardly repeat. */
const MAX_LENGTH = 128;

let recent = new Map<string, string>();
let earlier = new Map<string, string>();

/**
 * Returns a string with the same content: one object for all callers. A parser creates each
 * namespace, timestamp or uid again wherever it occurs, at some 40 bytes. Only the strings that
 * were shared last are known: nothing has to be forgotten. Never for values of secrets.
 */
export function shared(text: string): string {
  if (text.length > MAX_LENGTH) return text;
  const known = recent.get(text);
  if (known !== undefined) return known;
  const one = earlier.get(text) ?? text;
  recent.set(one, one);
  if (recent.size >= GENERATION) {
    earlier = recent;
    recent = new Map();
  }
  return one;
}

const isContainer = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/**
 * Shares all strings in a value that JSON.parse returned, in place. Names of fields are shared by
 * the parser.
 */
export function shareStrings(value: unknown): void {
  if (!isContainer(value)) return;
  for (const name of Object.keys(value)) {
    const field = value[name];
    if (typeof field === "string") value[name] = shared(field);
    else shareStrings(field);
  }
}
