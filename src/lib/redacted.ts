import { inspect } from "node:util";

const MASK = "[redacted]";

/**
 * A value that must not be printed. String conversion, JSON and `util.inspect` print `[redacted]`;
 * only `reveal()` returns the value (docs/design/security.md#secret-values).
 */
export class Redacted<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
