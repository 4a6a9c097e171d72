import { LiquidError, UndefinedVariableError } from "liquidjs";
import { ALL } from "./context.ts";
import { TemplateFault } from "./template-fault.ts";

const MAX_QUOTED = 200;
const POSITION = /, line:\d+, col:\d+$/;

const shortened = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;

/**
 * Returns what is wrong. Texts of the library are used for errors of the syntax only, in which it
 * has seen no value.
 */
function reasonOf(error: unknown, names: ReadonlySet<string>): string {
  if (error instanceof TemplateFault) return error.message;
  // The library wraps every error that reading a name throws, as if the name did not exist.
  if (error instanceof LiquidError && error.originalError instanceof TemplateFault)
    return error.originalError.message;
  if (error instanceof UndefinedVariableError) {
    const name = shortened(error.token.getText());
    return `the variable ${name} does not exist${names.has(name) ? `: write ${ALL}["${name}"]` : ""}`;
  }
  if (!(error instanceof LiquidError)) return "the expression cannot be evaluated";
  if (error.name === "RenderError") {
    const isRange = error.originalError?.name === "AssertionError";
    return isRange ? "ranges are not available" : "the expression cannot be evaluated";
  }
  if (error.originalError instanceof RangeError) return "the template is nested too deeply";
  return shortened((error.originalError?.message ?? error.message).replace(POSITION, ""));
}

/**
 * Returns the message for an error of the template of one key. It contains text of the template and
 * names, never a value.
 */
export function faultMessage(key: string, error: unknown, names: ReadonlySet<string>): string {
  const [line, column] = error instanceof LiquidError ? error.token.getPosition() : [1, 1];
  return `spec.target.template.data[${key}], line ${line}, column ${column}: ${reasonOf(error, names)}`;
}
