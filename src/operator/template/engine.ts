import {
  CommentTag,
  IfTag,
  Liquid,
  RawTag,
  type Template,
  UnlessTag,
  type Emitter,
  type Parser,
  Tag,
  type TagToken,
  type TopLevelToken,
  type Operators,
} from "liquidjs";
import type { Budget } from "./budget.ts";
import { certificateFunctions } from "./functions/certificates.ts";
import { credentialFunctions } from "./functions/credentials.ts";
import type { TemplateFunction, Tools } from "./functions/template-function.ts";
import { textFunctions } from "./functions/text.ts";
import { TemplateFault } from "./template-fault.ts";
import { Value } from "./value.ts";
import { ALL, type TemplateContext, STEP_UNITS } from "./context.ts";

/**
 * Returns the text of an operand; `undefined` for a variable that does not exist. @throws
 * TemplateFault
 */
function textOf(operand: unknown): string | undefined {
  if (operand === undefined || operand === null) return undefined;
  if (operand instanceof Value) return operand.text;
  if (typeof operand === "string" || typeof operand === "number" || typeof operand === "boolean")
    return String(operand);
  throw new TemplateFault("only texts can be compared");
}

const isTrue = (operand: unknown): boolean =>
  operand !== undefined && operand !== null && operand !== false;

const MAX_SOUGHT_LENGTH = 1024;

/**
 * Reports whether a text contains another one. The time grows with the product of the lengths in
 * the worst case.
 */
function contains(text: string, sought: string, budget: Budget): boolean {
  if (sought.length > MAX_SOUGHT_LENGTH)
    throw new TemplateFault(`contains: expected a text of at most ${MAX_SOUGHT_LENGTH} characters`);
  budget.spend(text.length * Math.ceil(sought.length / 16));
  return text.includes(sought);
}

/** Returns the operators of conditions. They compare text. */
function operators(budget: Budget): Operators {
  const compare =
    (compared: (left: string | undefined, right: string | undefined) => boolean) =>
    (left: unknown, right: unknown) => {
      const [one, other] = [textOf(left), textOf(right)];
      budget.spend(STEP_UNITS + (one?.length ?? 0) + (other?.length ?? 0));
      return compared(one, other);
    };
  const logical =
    (combined: (left: boolean, right: boolean) => boolean) => (left: unknown, right: unknown) => {
      budget.spend(STEP_UNITS);
      return combined(isTrue(left), isTrue(right));
    };
  return {
    "==": compare((left, right) => left === right),
    "!=": compare((left, right) => left !== right),
    contains: compare(
      (left, right) => left !== undefined && right !== undefined && contains(left, right, budget),
    ),
    and: logical((left, right) => left && right),
    or: logical((left, right) => left || right),
    not: (operand: unknown) => {
      budget.spend(STEP_UNITS);
      return !isTrue(operand);
    },
  };
}

const SYNTAX = new RegExp(`^(?!${ALL} )([A-Za-z_][A-Za-z0-9_]*) +in +${ALL}$`);

/**
 * The loop of templates, over the variables of the resource and nothing else: `{% for item in vars
 * %}…{% endfor %}`.
 */
class ForTag extends Tag {
  readonly #variable: string;
  readonly #body: Template[] = [];

  constructor(token: TagToken, remaining: TopLevelToken[], liquid: Liquid, parser: Parser) {
    super(token, remaining, liquid);
    const variable = SYNTAX.exec(token.args.trim())?.[1];
    if (variable === undefined)
      throw new TemplateFault(`the only loop is {% for item in ${ALL} %}`);
    this.#variable = variable;
    parser
      .parseStream(remaining)
      .on("tag:endfor", function end() {
        this.stop();
      })
      .on<Template>("template", (template) => void this.#body.push(template))
      .on("end", () => {
        throw new TemplateFault("{% for %} lacks {% endfor %}");
      })
      .start();
  }

  *render(context: TemplateContext, emitter: Emitter): Generator {
    for (const variable of context.variables) {
      yield* context.withVariable(this.#variable, variable, () =>
        this.liquid.renderer.renderTemplates(this.#body, context, emitter),
      );
    }
  }

  /** Returns the templates that use the variable, for the analysis of names to await. */
  *children(): Generator<unknown, Template[]> {
    yield;
    return this.#body;
  }

  blockScope(): string[] {
    return [this.#variable];
  }
}

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
