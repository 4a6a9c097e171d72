import { LiquidError, UndefinedVariableError } from "liquidjs";
import { ALL } from "./context.ts";
import { TemplateFault } from "./template-fault.ts";

const MAX_QUOTED = 200;
const POSITION = /, line:\d+, col:\d+$/;

const shortened = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;

const NOT_EVALUATED = "the expression cannot be evaluated";

/** Returns what is wrong. */
function reasonOf(error: unknown, names: ReadonlySet<string>): string {
  if (error instanceof TemplateFault) return error.message;
  if (!(error instanceof LiquidError)) return NOT_EVALUATED;
  const cause = error.originalError;
  // The library wraps every error that reading a name throws, as if the name did not exist.
  if (cause instanceof TemplateFault) return cause.message;
  if (error instanceof UndefinedVariableError) {
    const name = shortened(error.token.getText());
    return `the variable ${name} does not exist${names.has(name) ? `: write ${ALL}["${name}"]` : ""}`;
  }
  if (error.name === "RenderError")
    return cause?.name === "AssertionError" ? "ranges are not available" : NOT_EVALUATED;
  return syntaxReason(error, cause);
}

/** Returns the text of the library: of errors of the syntax, in which it has seen no value. */
function syntaxReason({ message }: LiquidError, cause: Error | undefined): string {
  if (cause instanceof RangeError) return "the template is nested too deeply";
  return shortened((cause?.message ?? message).replace(POSITION, ""));
}

/**
 * Returns the message for an error of the template of one key. It contains text of the template and
 * names, never a value.
 */
export function faultMessage(key: string, error: unknown, names: ReadonlySet<string>): string {
  const [line, column] = error instanceof LiquidError ? error.token.getPosition() : [1, 1];
  return `spec.target.template.data[${key}], line ${line}, column ${column}: ${reasonOf(error, names)}`;
}
