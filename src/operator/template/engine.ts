import { CommentTag, IfTag, Liquid, RawTag, type Template, UnlessTag } from "liquidjs";
import type { Budget } from "./budget.ts";
import { certificateFunctions } from "./functions/certificates.ts";
import { credentialFunctions } from "./functions/credentials.ts";
import type { TemplateFunction, Tools } from "./functions/template-function.ts";
import { textFunctions } from "./functions/text.ts";
import { ForTag } from "./for-tag.ts";
import { operators } from "./operators.ts";
import { TemplateFault } from "./template-fault.ts";
import { Value } from "./value.ts";

/** Maximum size of a value in a template in bytes, equal to the maximum of a target. */
const MAX_VALUE_BYTES = 1024 * 1024;
const CALL_UNITS = 64;
const MAX_TEMPLATE_LENGTH = 16_384;

const functions: ReadonlyMap<string, TemplateFunction> = new Map(
  Object.entries({
    ...textFunctions,
    ...credentialFunctions,
    ...certificateFunctions,
  }),
);

function asValue(argument: unknown, name: string): Value {
  if (argument instanceof Value) return argument;
  if (
    typeof argument === "string" ||
    typeof argument === "number" ||
    typeof argument === "boolean"
  ) {
    return Value.ofText(String(argument), `an argument of ${name}`);
  }
  throw new TemplateFault(`${name}: expected variables and texts as arguments`);
}

function apply(
  name: string,
  definition: TemplateFunction,
  [input, ...args]: readonly unknown[],
  tools: Tools,
): Value {
  const [least, most] = definition.arguments;
  if (args.length < least || args.length > most) {
    const expected = least === most ? `${least}` : `${least} to ${most}`;
    throw new TemplateFault(`${name}: expected ${expected} arguments, found ${args.length}`);
  }
  const [value, ...rest] = [
    asValue(input, name),
    ...args.map((argument) => asValue(argument, name)),
  ];
  for (const { size } of [value, ...rest]) tools.spend(CALL_UNITS + size);
  const result = definition.run(value, rest, tools);
  const label = `the result of ${name}`;
  const returned =
    typeof result === "string" ? Value.ofText(result, label) : new Value(result, () => label);
  tools.spend(returned.size);
  if (returned.size > MAX_VALUE_BYTES)
    throw new TemplateFault(`${label} is larger than ${MAX_VALUE_BYTES} bytes`);
  return returned;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  (value instanceof Value && value.size === 0);

function orDefault(value: unknown, ...rest: readonly unknown[]): unknown {
  if (rest.length !== 1)
    throw new TemplateFault(`default: expected 1 arguments, found ${rest.length}`);
  return isEmpty(value) ? rest[0] : value;
}

/**
 * Returns the interpreter of templates, without every tag, function and operator of the library
 * that is not listed here. It has no file system: there is no tag that reads a file, and the
 * library's own access is replaced by an empty list.
 */
export function createEngine(budget: Budget, salt: Tools["salt"]): Liquid {
  const engine = new Liquid({
    strictFilters: true,
    strictVariables: true,
    lenientIf: true,
    ownPropertyOnly: true,
    cache: false,
    // Unused here. Without it, the library asks the system for it with each engine.
    locale: "en-US",
    templates: {},
    operators: operators(budget),
    // Ranges are what is left that needs memory: `(1..1000000)`.
    memoryLimit: 0,
  });
  for (const name of Object.keys(engine.tags)) delete engine.tags[name];
  for (const name of Object.keys(engine.filters)) engine.unregisterFilter(name);
  for (const [name, tag] of Object.entries({
    if: IfTag,
    unless: UnlessTag,
    for: ForTag,
    raw: RawTag,
    comment: CommentTag,
  })) {
    engine.registerTag(name, tag);
  }
  const tools: Tools = { salt, spend: (units) => budget.spend(units) };
  engine.registerFilter("default", orDefault);
  for (const [name, definition] of functions) {
    engine.registerFilter(name, (...values: readonly unknown[]) =>
      apply(name, definition, values, tools),
    );
  }
  return engine;
}

/** Parses the template of one key. @throws TemplateFault, LiquidError */
export function parseTemplate(engine: Liquid, text: string): Template[] {
  if (text.length > MAX_TEMPLATE_LENGTH) {
    throw new TemplateFault(
      `the template has ${text.length} characters, expected at most ${MAX_TEMPLATE_LENGTH}`,
    );
  }
  return engine.parse(text);
}
