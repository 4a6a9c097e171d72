import type { Operators } from "liquidjs";
import { type Budget } from "./budget.ts";
import { STEP_UNITS } from "./context.ts";
import { TemplateFault } from "./template-fault.ts";
import { Value } from "./value.ts";

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
export function operators(budget: Budget): Operators {
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
