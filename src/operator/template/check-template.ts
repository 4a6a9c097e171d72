import { Budget } from "./budget.ts";
import { ALL } from "./context.ts";
import { createEngine, parseTemplate } from "./engine.ts";
import { faultMessage } from "./fault-message.ts";
import type { Template } from "./render-template.ts";

/** A problem that a template shows without values. */
export interface TemplateProblem {
  /** The key of the target. */
  readonly key: string;
  readonly message: string;
}

const noSalt = (): Buffer => Buffer.alloc(0);

/**
 * Returns the name that the segments of a name in a template refer to; `undefined` if only a
 * rendering shows it.
 */
function nameOf([first, second]: readonly unknown[]): string | undefined {
  const name = first === ALL ? second : first;
  return typeof name === "string" ? name : undefined;
}

function unknownName(segments: readonly unknown[], names: ReadonlySet<string>): string | undefined {
  const name = nameOf(segments);
  if (name === undefined || names.has(name)) return undefined;
  const dotted = segments.join(".");
  return names.has(dotted)
    ? `${dotted} does not exist: write ${ALL}["${dotted}"]`
    : `${name} does not exist`;
}

/**
 * Returns the problems of templates that are known before any value is: a syntax that is wrong, and
 * names that no variable has. `names` is `undefined` if only the vault knows them.
 */
export function checkTemplate(
  { data }: Template,
  names: ReadonlySet<string> | undefined,
): readonly TemplateProblem[] {
  const engine = createEngine(new Budget(Infinity), noSalt);
  return Object.entries(data).flatMap(([key, text]): TemplateProblem[] => {
    try {
      const used = engine.globalVariableSegmentsSync(parseTemplate(engine, text));
      const unknown = new Set(
        names === undefined ? [] : used.flatMap((segments) => unknownName(segments, names) ?? []),
      );
      return [...unknown].map((problem) => ({
        key,
        message: `spec.target.template.data[${key}]: the variable ${problem}`,
      }));
    } catch (error) {
      return [{ key, message: faultMessage(key, error, new Set(names)) }];
    }
  });
}
