import { randomBytes } from "node:crypto";

/** Length of a trace in characters. Hexadecimal text needs more to be unambiguous. */
const WINDOW = 8;
const HEX_WINDOW = 16;

/** Returns all text encodings of a byte string except hexadecimal. */
function encodings(bytes: Buffer): string[] {
  const texts = [
    bytes.toString("latin1"),
    bytes.toString("utf8"),
    encodeURIComponent(bytes.toString("latin1")),
  ];
  // Base64 differs at each of three offsets; its first and last characters depend on the
  // neighboring bytes.
  for (const shift of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    texts.push(shifted.slice(shift + 1, -4));
  }
  return texts;
}

/** Creates secret test values, each unique and of high entropy, and searches for traces of them. */
export class Canaries {
  readonly #values: { readonly name: string; readonly bytes: Buffer }[] = [];

  /** Returns a new, unique value of 24 characters. */
  text(name: string): string {
    const value = randomBytes(18).toString("base64url");
    this.#values.push({ name, bytes: Buffer.from(value) });
    return value;
  }

  /** Registers a value created elsewhere, e.g. a token. */
  known(name: string, value: string): void {
    this.#values.push({ name, bytes: Buffer.from(value) });
  }

  /** Returns new random bytes. Traces of the first 32 bytes are searched for. */
  bytes(name: string, size: number): Buffer {
    const value = randomBytes(size);
    this.#values.push({ name, bytes: value.subarray(0, 32) });
    return value;
  }

  /**
   * Returns `<value> in <place>` for each trace, in any encoding and from eight characters on.
   * Expected to be empty.
   */
  tracesIn(places: Readonly<Record<string, string>>): string[] {
    const traces = new Set<string>();
    const parts = this.#parts();
    for (const [place, text] of Object.entries(places)) {
      for (const size of [WINDOW, HEX_WINDOW]) {
        for (let at = 0; at + size <= text.length; at++) {
          const name = parts.get(text.slice(at, at + size));
          if (name !== undefined) traces.add(`${name} in ${place}`);
        }
      }
    }
    return [...traces];
  }

  /** Returns every possible trace with the name of its value. */
  #parts(): Map<string, string> {
    const parts = new Map<string, string>();
    for (const { name, bytes } of this.#values) {
      for (const text of encodings(bytes))
        for (const part of windows(text, WINDOW)) parts.set(part, name);
      const hex = bytes.toString("hex");
      for (const text of [hex, hex.toUpperCase()])
        for (const part of windows(text, HEX_WINDOW)) parts.set(part, name);
    }
    return parts;
  }
}

function windows(text: string, size: number): string[] {
  return Array.from({ length: Math.max(0, text.length - size + 1) }, (_, at) =>
    text.slice(at, at + size),
  );
}
