import { inspect } from "node:util";

const MASK = "[redacted]";

/**
 * A value that must not be printed. String conversion, JSON and `util.inspect` all say `[redacted]`; only `reveal()` gives the value.
 * Source of the rule: design, "security", threat "secrets in logs/events/status/metrics/errors".
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
