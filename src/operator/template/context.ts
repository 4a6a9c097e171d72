import { Context, type Liquid } from "liquidjs";
import type { Budget } from "./budget.ts";
import { TemplateFault } from "./template-fault.ts";
import type { Value } from "./value.ts";

/** Name under which a template finds all variables by their names. */
export const ALL = "vars";

/** Work of one node of a template, one operator or one name. */
export const STEP_UNITS = 128;

/** A variable in a loop. */
export interface NamedVariable {
  readonly name: string;
  readonly value: Value;
}

/** Returns an object without a prototype. */
const bare = <T>(members: Iterable<readonly [string, T]>): Record<string, T> =>
  // `fromEntries` defines members: `__proto__` is one like any other.
  Object.setPrototypeOf(Object.fromEntries(members), null);

const isBare = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null;

/** The variables of a target, shared by all of its templates. */
export interface Variables {
  /** In the order of loops. */
  readonly list: readonly NamedVariable[];
  readonly names: Readonly<Record<string, unknown>>;
}

/** Returns the variables with the names under which a template finds them. */
export function variablesOf(list: readonly NamedVariable[]): Variables {
  const byName = bare(list.map(({ name, value }) => [name, value]));
  return { list, names: bare<unknown>([...Object.entries(byName), [ALL, byName]]) };
}

/**
 * The names that a template can use: the variables, `vars`, and the variables of loops. Replaces
 * the way in which the library reads properties, because the library reaches the prototypes of
 * objects (`{{ empty.__proto__ }}`).
 */
export class TemplateContext extends Context {
  readonly #budget: Budget;
  readonly variables: readonly NamedVariable[];

  constructor(liquid: Liquid, { list, names }: Variables, budget: Budget) {
    super(names, liquid.options, { sync: true, globals: bare([]) }, { liquid });
    this.#budget = budget;
    this.variables = list;
    // The library checks it before each node. The library's limit is a time: it depends on the
    // machine.
    this.renderLimit.check = () => budget.spend(STEP_UNITS);
  }

  override readProperty(object: unknown, name: unknown): unknown {
    this.#budget.spend(STEP_UNITS);
    if (typeof name !== "string") {
      throw new TemplateFault(
        `a name in brackets must be a text such as ${ALL}["tls.crt"], or the name of a loop's variable`,
      );
    }
    return isBare(object) && Object.hasOwn(object, name) ? object[name] : undefined;
  }

  /** Runs `render` while the name of a loop is defined. */
  *withVariable(
    name: string,
    { name: key, value }: NamedVariable,
    render: () => Iterable<unknown>,
  ): Generator {
    this.push(
      bare<unknown>([
        [
          name,
          bare<unknown>([
            ["name", key],
            ["value", value],
          ]),
        ],
      ]),
    );
    yield* render();
    this.pop();
  }
}
