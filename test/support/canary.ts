import { randomBytes } from "node:crypto";

const WINDOW = 8;

/** All ways in which a byte string could be written down. */
function encodings(bytes: Buffer): string[] {
  const texts = [
    bytes.toString("latin1"),
    bytes.toString("utf8"),
    bytes.toString("hex"),
    encodeURIComponent(bytes.toString("latin1")),
  ];
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

  bytes(name: string, size: number): Buffer {
    const value = randomBytes(size);
    this.#values.push({ name, bytes: value.subarray(0, 32) });
    return value;
  }

  /** `name of the value in name of the place` for each trace, in any encoding and down to eight characters of it. Should be empty. */
  tracesIn(places: Readonly<Record<string, string>>): string[] {
    const traces: string[] = [];
    for (const [place, text] of Object.entries(places)) {
      for (const { name, bytes } of this.#values) {
        if (encodings(bytes).some((encoded) => windows(encoded).some((part) => text.includes(part))))
          traces.push(`${name} in ${place}`);
      }
    }
    return traces;
  }
}

function windows(text: string): string[] {
  return Array.from({ length: Math.max(0, text.length - WINDOW + 1) }, (_, at) => text.slice(at, at + WINDOW));
}
