import { createHmac } from "node:crypto";
import { LiquidError, toValueSync, type Emitter } from "liquidjs";
import type { Redacted } from "../../lib/redacted.ts";
import { Budget, BudgetExceeded } from "./budget.ts";
import { type NamedVariable, TemplateContext, type Variables, variablesOf } from "./context.ts";
import { createEngine, parseTemplate } from "./engine.ts";
import { faultMessage } from "./fault-message.ts";
import type { Tools } from "./functions/template-function.ts";
import { Value } from "./value.ts";
import { TemplateFault } from "./template-fault.ts";

/** Collects what the template of one key yields: text, or the bytes of its only expression. */
class Output implements Emitter {
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

/** `spec.target.template` of a resource. */
export interface Template {
  /** Template of each key of the target. */
  readonly data: Readonly<Record<string, string>>;
}

export interface RenderInput {
  readonly template: Template;
  /** The bytes that the templates can use, by name. */
  readonly variables: ReadonlyMap<string, Uint8Array>;
  /** Secret that the salts of this target are derived from. */
  readonly seed: Redacted<Uint8Array>;
}

export type Rendering =
  | { readonly ok: true; readonly content: ReadonlyMap<string, Uint8Array> }
  | {
      readonly ok: false;
      readonly message: string;
      /** More work would be necessary than was allowed. */
      readonly exceeded: boolean;
    };

/** Work of one variable: its place in the order, and its name in the scope. */
const VARIABLE_UNITS = 128;
const TOO_MANY = "spec.target.template: the sources have more values than templates can use";

/** Work of parsing one character. */
const PARSE_UNITS = 8;

function salts(key: string, seed: Redacted<Uint8Array>): Tools["salt"] {
  return (purpose, size, ...inputs) => {
    const hmac = createHmac("sha256", seed.reveal());
    for (const input of [Buffer.from(key), Buffer.from(purpose), ...inputs])
      hmac.update(`${input.byteLength}:`).update(input);
    return hmac.digest().subarray(0, size);
  };
}

/**
 * Returns the variables in the order of their names: the order in which the vault lists entries
 * must not change a target. A name may be a part of a value, such as the name of a member of an
 * object: messages contain it only if a template does.
 */
function sharedVariables({ template, variables }: RenderInput): Variables {
  const isPublic = (name: string): boolean =>
    Object.values(template.data).some((text) => text.includes(name));
  const list = [...variables].map(([name, bytes]): NamedVariable => {
    return {
      name,
      value: new Value(bytes, () => (isPublic(name) ? `the variable ${name}` : "a variable")),
    };
  });
  return variablesOf(list.sort((one, other) => (one.name < other.name ? -1 : 1)));
}

/** Returns the bytes of one key. @throws TemplateFault, LiquidError */
function renderKey(
  key: string,
  text: string,
  variables: Variables,
  seed: RenderInput["seed"],
  budget: Budget,
): Uint8Array {
  budget.spend(text.length * PARSE_UNITS);
  const engine = createEngine(budget, salts(key, seed));
  const template = parseTemplate(engine, text);
  const output = new Output(budget);
  const context = new TemplateContext(engine, variables, budget);
  toValueSync(engine.renderer.renderTemplates(template, context, output));
  return output.bytes();
}

const isExceeded = (error: unknown): boolean =>
  error instanceof BudgetExceeded ||
  (error instanceof LiquidError && error.originalError instanceof BudgetExceeded);

/**
 * Renders the templates of a target within `units` of work. Pure, and deterministic: equal input
 * has equal output. A message contains names and text of the template, never a value.
 */
export function renderTemplate(input: RenderInput, units: number): Rendering {
  const { template, variables, seed } = input;
  const budget = new Budget(units);
  if (variables.size * VARIABLE_UNITS > units)
    return { ok: false, message: TOO_MANY, exceeded: true };
  const content = new Map<string, Uint8Array>();
  const shared = sharedVariables(input);
  for (const [key, text] of Object.entries(template.data)) {
    try {
      content.set(key, renderKey(key, text, shared, seed, budget));
    } catch (error) {
      return {
        ok: false,
        message: faultMessage(key, error, new Set(variables.keys())),
        exceeded: isExceeded(error),
      };
    }
  }
  return { ok: true, content };
}
