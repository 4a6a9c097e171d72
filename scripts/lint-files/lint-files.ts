import { WrongChecksumError } from "../../test/lab/tools/python-tool.ts";
import { messageOf } from "../../src/lib/errors.ts";

/** A program that checks files, and reports what it finds with another exit code than 0. */
export interface Linter {
  readonly name: string;
  /** Returns the path of the program. @throws Error that says why there is none */
  readonly find: () => Promise<string>;
  readonly args: readonly string[];
}

export interface LintOutcome {
  readonly kind: "clean" | "reported" | "unavailable";
  /** For the user, without a line break at the end. */
  readonly text: string;
}

type Run = (
  program: string,
  args: readonly string[],
) => { status: number | null; stdout: string; stderr: string; error?: Error };

/**
 * Runs the linters one after the other. A missing program does not keep the next linters from
 * running.
 */
export async function lintFiles(linters: readonly Linter[], run: Run): Promise<LintOutcome[]> {
  const outcomes: LintOutcome[] = [];
  for (const linter of linters) outcomes.push(await lint(linter, run));
  return outcomes;
}

async function lint({ name, find, args }: Linter, run: Run): Promise<LintOutcome> {
  let program: string;
  try {
    program = await find();
  } catch (error) {
    const kind = error instanceof WrongChecksumError ? "reported" : "unavailable";
    return {
      kind,
      text: `${name}: not run: ${messageOf(error)}`,
    };
  }
  const { status, stdout, stderr, error } = run(program, args);
  if (status === 0) return { kind: "clean", text: `${name}: clean` };
  const output = `${stdout}${stderr}`.trim() || (error?.message ?? `exited with ${status}`);
  return { kind: "reported", text: `${output}\n${name}: failed` };
}
