import { TemplateFault } from "../template-fault.ts";

/** A value in BER. */
export interface Node {
  readonly tag: number;
  readonly constructed: boolean;
  /** Content without the header; that of a constructed value is in `children` as well. */
  readonly content: Uint8Array;
  readonly children: readonly Node[];
}

const MAX_DEPTH = 32;
const MAX_NODES = 20_000;

export const malformed = (): TemplateFault => new TemplateFault("the ASN.1 of the keystore is malformed");

/** Reads BER, in which lengths may be indefinite. Takes linear time, within bounds of depth and number. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #nodes = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw malformed();
    this.#at += 1;
    return byte;
  }

  /** Returns a length; `undefined` for an indefinite one. */
  #length(): number | undefined {
    const first = this.#byte();
    if (first < 0x80) return first;
    if (first === 0x80) return undefined;
    if (first > 0x84) throw malformed();
    let length = 0;
    for (let left = first - 0x80; left > 0; left -= 1) length = length * 256 + this.#byte();
    return length;
  }

  /** @throws TemplateFault for malformed input */
  node(limit: number, depth: number): Node {
    this.#nodes += 1;
    const tag = this.#byte();
    if (depth > MAX_DEPTH || this.#nodes > MAX_NODES || (tag & 0x1f) === 0x1f) throw malformed();
    const constructed = (tag & 0x20) !== 0;
    const length = this.#length();
    const start = this.#at;
    const end = length === undefined ? limit : start + length;
    if (end > limit || (length === undefined && !constructed)) throw malformed();
    const children: Node[] = [];
    if (constructed) {
      while (length === undefined ? !this.#endOfContents() : this.#at < end) children.push(this.node(end, depth + 1));
    } else {
      this.#at = end;
    }
    const stop = length === undefined ? this.#at - 2 : end;
    return { tag, constructed, content: this.#bytes.subarray(start, stop), children };
  }

  #endOfContents(): boolean {
    if (this.#bytes[this.#at] !== 0 || this.#bytes[this.#at + 1] !== 0) return false;
    this.#at += 2;
    return true;
  }
}

/** Parses one value in BER. Bytes after it are ignored. @throws TemplateFault */
export function parseBer(bytes: Uint8Array): Node {
  return new Reader(bytes).node(bytes.byteLength, 0);
}

/** Returns the child at an index. @throws TemplateFault */
export function child(node: Node, index: number): Node {
  const found = node.children[index];
  if (found === undefined) throw malformed();
  return found;
}

/** Returns the bytes of an octet string, whose parts may be values of their own. */
export function octetsOf(node: Node): Uint8Array {
  return node.constructed ? Buffer.concat(node.children.map(octetsOf)) : node.content;
}

/** Returns a non-negative integer below 2³¹. @throws TemplateFault */
export function integerOf({ tag, content }: Node): number {
  if (tag !== 0x02 || content.byteLength === 0 || content.byteLength > 4 || (content[0] ?? 0) >= 0x80) throw malformed();
  return content.reduce((value, byte) => value * 256 + byte, 0);
}

/** Returns an object identifier in its dotted form. @throws TemplateFault */
export function oidOf({ tag, content }: Node): string {
  if (tag !== 0x06 || content.byteLength === 0 || content.byteLength > 32) throw malformed();
  const parts: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    if (parts.length === 0) parts.push(Math.min(Math.floor(value / 40), 2), value - Math.min(Math.floor(value / 40), 2) * 40);
    else parts.push(value);
    value = 0;
  }
  return parts.join(".");
}
