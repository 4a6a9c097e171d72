import { randomBytes } from "node:crypto";

/** Characters of a trace. Of hexadecimal ones it takes more until they cannot be anything else. */
const WINDOW = 8;
const HEX_WINDOW = 16;

/** All ways, but hexadecimal, in which a byte string could be written down. */
function encodings(bytes: Buffer): string[] {
  const texts = [bytes.toString("latin1"), bytes.toString("utf8"), encodeURIComponent(bytes.toString("latin1"))];
  // Base64 looks different at each of three offsets; the first and last characters depend on the neighbours.
  for (const shift of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
    texts.push(shifted.slice(shift + 1, -4));
  }
  return texts;
}

/** Secret test values, each unique and of high entropy, and the search for any trace of them. */
export class Canaries {
  readonly #values: { readonly name: string; readonly bytes: Buffer }[] = [];

  /** A fresh value of 24 characters that stands nowhere else; `wrap` puts it into a longer one. */
  text(name: string): string {
    const value = randomBytes(18).toString("base64url");
    this.#values.push({ name, bytes: Buffer.from(value) });
    return value;
  }

  /** Looks for a value that somebody else made, a token for one. */
  known(name: string, value: string): void {
    this.#values.push({ name, bytes: Buffer.from(value) });
  }

  bytes(name: string, size: number): Buffer {
    const value = randomBytes(size);
    this.#values.push({ name, bytes: value.subarray(0, 32) });
    return value;
  }

  /** `name of the value in name of the place` for each trace, in any encoding and down to eight characters of it. Should be empty. */
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

  /** Everything that would be a trace, and of which value. */
  #parts(): Map<string, string> {
    const parts = new Map<string, string>();
    for (const { name, bytes } of this.#values) {
      for (const text of encodings(bytes)) for (const part of windows(text, WINDOW)) parts.set(part, name);
      const hex = bytes.toString("hex");
      for (const text of [hex, hex.toUpperCase()]) for (const part of windows(text, HEX_WINDOW)) parts.set(part, name);
    }
    return parts;
  }
}

function windows(text: string, size: number): string[] {
  return Array.from({ length: Math.max(0, text.length - size + 1) }, (_, at) => text.slice(at, at + size));
}
