import type { Emitter } from "liquidjs";
import type { Budget } from "./budget.ts";
import { TemplateFault } from "./template-fault.ts";
import { Value } from "./value.ts";

/** Collects what the template of one key yields: text, or the bytes of its only expression. */
export class Output implements Emitter {
  /** Required by the library, as its return value. */
  readonly buffer = "";
  readonly #budget: Budget;
  readonly #parts: (string | Value)[] = [];

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  write(part: unknown): void {
    if (part === "") return;
    const written = typeof part === "number" || typeof part === "boolean" ? String(part) : part;
    if (typeof written !== "string" && !(written instanceof Value)) {
      throw new TemplateFault(
        "an expression yields neither text nor bytes: expected a variable or the result of a function",
      );
    }
    this.#budget.spend(typeof written === "string" ? written.length : written.size);
    this.#parts.push(written);
  }

  /** @throws TemplateFault for bytes that are not text next to other parts */
  bytes(): Uint8Array {
    const [first] = this.#parts;
    if (this.#parts.length === 1 && first instanceof Value) return first.bytes;
    return Buffer.from(
      this.#parts.map((part) => (typeof part === "string" ? part : part.text)).join(""),
    );
  }
}
