import { utf8Text } from "../../../lib/utf8-text.ts";

/** Shortest value, in bytes, whose encodings are masked too: shorter encodings are anywhere. */
const MIN_ENCODED = 6;
/** Shortest line of a value that is masked alone, in bytes. */
const MIN_LINE = 12;
/** Longest value, in bytes, whose lines are masked alone. */
const MAX_LINED = 64 * 1024;
/** Values are masked in parts of at least this size, in bytes: output waits for one part at most. */
const PART = 4096;

/** Returns consecutive parts of a value, each of {@link PART} bytes or more. */
function partsOf(value: Buffer): Buffer[] {
  const count = Math.max(1, Math.floor(value.length / PART));
  return Array.from({ length: count }, (_, at) =>
    value.subarray(at * PART, at + 1 === count ? undefined : (at + 1) * PART),
  );
}

/**
 * Returns the characters of base64 that depend on a value alone, at each of the three places where
 * it may begin in a longer text, and the whole encoding of the value itself.
 */
function base64Of(value: Buffer, encoding: "base64" | "base64url"): string[] {
  const whole = value.toString(encoding).replace(/=+$/u, "");
  const inner = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), value]);
    const first = Math.ceil((before * 8) / 6);
    const end = Math.floor((padded.length * 8) / 6);
    return padded.toString(encoding).slice(first, end);
  });
  return [whole, ...inner];
}

/** Characters that encoders of URLs and forms leave, from the many to the few. */
const KEPT = [/[A-Za-z0-9\-_.!~*'()]/u, /[A-Za-z0-9\-_.~]/u, /[A-Za-z0-9\-_.*]/u];

/** Encodings of each byte, with digits of either case, and with `+` for a space. */
const percentTables: readonly (readonly string[])[] = KEPT.flatMap((kept) =>
  [true, false].flatMap((isUpper) => {
    const table = Array.from({ length: 256 }, (_, byte) => {
      const digits = byte.toString(16).padStart(2, "0");
      const isKept = byte < 128 && kept.test(String.fromCharCode(byte));
      if (isKept) return String.fromCharCode(byte);
      return `%${isUpper ? digits.toUpperCase() : digits}`;
    });
    return [table, table.with(32, "+")];
  }),
);

/** Returns percent-encodings of a value, each once. */
function percentOf(value: Buffer): Set<string> {
  return new Set(
    percentTables.map((table) => {
      let text = "";
      for (const byte of value) text += table[byte] ?? "";
      return text;
    }),
  );
}

/** Returns the encodings of a part of a value that programs print. */
function encodingsOf(part: Buffer): Buffer[] {
  if (part.length < MIN_ENCODED) return [];
  const text = utf8Text(part);
  const json = text === undefined ? [] : [JSON.stringify(text).slice(1, -1)];
  const ascii = [...base64Of(part, "base64"), ...base64Of(part, "base64url"), ...percentOf(part)];
  return [...ascii, ...json].map((encoded) => Buffer.from(encoded));
}

/** Returns the lines of a value that identify it, such as in a PEM block. */
function linesOf(value: Buffer): Buffer[] {
  if (value.length > MAX_LINED || !value.includes(10)) return [];
  return value
    .toString("latin1")
    .split(/\r?\n/u)
    .filter((line) => line.trim().length >= MIN_LINE)
    .map((line) => Buffer.from(line.trim(), "latin1"));
}

/** A value of a target. */
export interface MaskedValue {
  readonly bytes: Uint8Array;
  /** Its lines are masked alone too. */
  readonly hasSecretLines: boolean;
}

/** Returns everything that output must not contain of these values, each once. */
export function maskedForms(values: Iterable<MaskedValue>): Buffer[] {
  const forms = new Map<string, Buffer>();
  const add = (form: Buffer): void => {
    if (form.length > 0) forms.set(form.toString("latin1"), form);
  };
  for (const { bytes, hasSecretLines } of values) {
    const value = Buffer.from(bytes);
    // A shell removes final newlines.
    const end = /[\r\n]*$/u.exec(value.subarray(-64).toString("latin1"))?.[0].length ?? 0;
    for (const each of [value, value.subarray(0, value.length - end)]) {
      for (const part of partsOf(each)) for (const form of [part, ...encodingsOf(part)]) add(form);
    }
    if (hasSecretLines) for (const line of linesOf(value)) add(line);
  }
  return [...forms.values()];
}
