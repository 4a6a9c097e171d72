const units: Readonly<Record<string, string>> = {
  " ": "space",
  "\t": "tab",
  "\n": "newline",
  "\r": "carriage return",
  "\r\n": "newline (CRLF)",
};

function plural(count: number, unit: string): string {
  return count === 1 ? `a ${unit}` : `${count} ${unit.replace(/(?= \(|$)/u, "s")}`;
}

/** Runs of white space that a sentence names. */
const MAX_RUNS = 4;

/** Returns the white space at the end: character by character, because a pattern looks for it from each space of a long value. */
function whiteSpaceAtEnd(value: string): string {
  let start = value.length;
  while (start > 0 && " \t\r\n".includes(value.charAt(start - 1))) start--;
  return value.slice(start);
}

/** Describes the white space at the end of a value: `Ends with a space and 2 newlines.` */
export function valueEnd(value: string): string | undefined {
  const end = whiteSpaceAtEnd(value);
  const runs: { readonly unit: string; readonly count: number }[] = [];
  for (const [character] of end.matchAll(/\r\n|./gsu)) {
    const unit = units[character] ?? "";
    const last = runs.at(-1);
    if (last?.unit === unit) runs[runs.length - 1] = { unit, count: last.count + 1 };
    else runs.push({ unit, count: 1 });
  }
  if (runs.length === 0) return undefined;
  if (runs.length > MAX_RUNS) return `Ends with ${end.length} characters of white space.`;
  const words = runs.map(({ unit, count }) => plural(count, unit));
  const last = words.at(-1) ?? "";
  return `Ends with ${words.length === 1 ? last : `${words.slice(0, -1).join(", ")} and ${last}`}.`;
}

type LineEnd = "\n" | "\r\n";

/** Returns the line end of a text, `undefined` when it has different ones. */
export function lineEndOf(text: string): LineEnd | undefined {
  if (!text.includes("\r")) return "\n";
  return /[\r\n]/u.test(text.replaceAll("\r\n", "")) ? undefined : "\r\n";
}

/** Largest value of a secret, in bytes: docs/design/vault-contract.md#limits. */
export const MAX_VALUE_BYTES = 2 ** 20;

/** Content of a file as the value of a secret. */
export interface FileValue {
  readonly text: string;
  /** Text keeps its bytes, also line ends; other files become Base64, because a value is text. */
  readonly format: "text" | "base64";
}

const BASE64 = /^[\w+/]+={0,2}$/u;

/** Returns the bytes of a value that is Base64 of a file that is no text, as `fileValue` makes it. */
export function fileBytes(value: string): Uint8Array<ArrayBuffer> | undefined {
  if (value.length % 4 !== 0 || !BASE64.test(value)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(value), (character) => character.charCodeAt(0));
    return fileValue(bytes).text === value ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the value for these bytes. */
export function fileValue(bytes: Uint8Array): FileValue {
  try {
    return {
      text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
      format: "text",
    };
  } catch {
    return {
      text: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")),
      format: "base64",
    };
  }
}
