import { createHmac } from "node:crypto";
import { LiquidError, toValueSync } from "liquidjs";
import type { Redacted } from "../../lib/redacted.ts";
import { Budget, BudgetExceeded } from "./budget.ts";
import { type NamedVariable, TemplateContext } from "./context.ts";
import { createEngine, parseTemplate } from "./engine.ts";
import { faultMessage } from "./fault-message.ts";
import type { Tools } from "./functions/template-function.ts";
import { Output } from "./output.ts";
import { Value } from "./value.ts";

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

/** Work of parsing one character. */
const PARSE_UNITS = 8;

function salts(key: string, seed: Redacted<Uint8Array>): Tools["salt"] {
  return (purpose, size, ...inputs) => {
    const hmac = createHmac("sha256", seed.reveal());
    for (const input of [Buffer.from(key), Buffer.from(purpose), ...inputs]) hmac.update(`${input.byteLength}:`).update(input);
    return hmac.digest().subarray(0, size);
  };
}

/**
 * Returns the variables in the order of their names, with what messages call them. A name may be a part of a value, that of a member of an object: messages contain
 * it only if the template does.
 */
function namedVariables(variables: RenderInput["variables"], text: string): readonly NamedVariable[] {
  // The order in which the vault lists entries must not change a target.
  const sorted = [...variables].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, bytes]) => {
    const label = text.includes(name) ? `the variable ${name}` : "a variable";
    return { name, value: new Value(bytes, label) };
  });
}

/** Returns the bytes of one key. @throws TemplateFault, LiquidError */
function renderKey(key: string, text: string, { variables, seed }: RenderInput, budget: Budget): Uint8Array {
  budget.spend(text.length * PARSE_UNITS);
  const engine = createEngine(budget, salts(key, seed));
  const template = parseTemplate(engine, text);
  const output = new Output(budget);
  const context = new TemplateContext(engine, namedVariables(variables, text), budget);
  toValueSync(engine.renderer.renderTemplates(template, context, output));
  return output.bytes();
}

const isExceeded = (error: unknown): boolean =>
  error instanceof BudgetExceeded || (error instanceof LiquidError && error.originalError instanceof BudgetExceeded);

/**
 * Renders the templates of a target within `units` of work. Pure, and deterministic: equal input has equal output. A message
 * contains names and text of the template, never a value.
 */
export function renderTemplate(input: RenderInput, units: number): Rendering {
  const { template, variables } = input;
  const budget = new Budget(units);
  const content = new Map<string, Uint8Array>();
  for (const [key, text] of Object.entries(template.data)) {
    try {
      content.set(key, renderKey(key, text, input, budget));
    } catch (error) {
      return { ok: false, message: faultMessage(key, error, new Set(variables.keys())), exceeded: isExceeded(error) };
    }
  }
  return { ok: true, content };
}
