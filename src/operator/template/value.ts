import { utf8Text } from "../lib/utf8-text.ts";
import { TemplateFault } from "./template-fault.ts";

/**
 * Bytes that a template handles: a variable, a literal, or the result of a function. Has no
 * property that a template could read.
 */
export class Value {
  readonly #bytes: Uint8Array;
  readonly #label: () => string;
  #text: string | undefined;

  /** `label` says in messages where the bytes are from. */
  constructor(bytes: Uint8Array, label: () => string) {
    this.#bytes = bytes;
    this.#label = label;
  }

  /** Returns a text: a literal of the template or the result of a function. */
  static ofText(text: string, label: string): Value {
    const value = new Value(Buffer.from(text), () => label);
    value.#text = text;
    return value;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get size(): number {
    return this.#bytes.byteLength;
  }

  /** Says in messages where the bytes are from. */
  get label(): string {
    return this.#label();
  }

  /** @throws TemplateFault for bytes that are not UTF-8 */
  get text(): string {
    this.#text ??= this.#decode();
    return this.#text;
  }

  #decode(): string {
    const text = utf8Text(this.#bytes);
    if (text !== undefined) return text;
    throw new TemplateFault(
      `${this.label} is not UTF-8 text: apply base64 to it, or let it be everything that the template contains`,
    );
  }
}
