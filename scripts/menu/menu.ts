import { spawn } from "node:child_process";
import { once } from "node:events";

/** A program of the repository that a script of npm starts by its name. */
export interface Program {
  /** Its purpose, in one line. */
  readonly description: string;
  /** Arguments of Node, from the repository root: a file, and the first arguments of the file. */
  readonly node: readonly string[];
  /** Variables in addition to the caller's; an undefined one is removed. */
  readonly environment?: NodeJS.ProcessEnv;
  /** It runs only by its name. */
  readonly isExtra?: true;
}

export type Menu = Readonly<Record<string, Program>>;

/** Returns the names of a menu with their descriptions, one line each. */
function listOf(menu: Menu): string {
  const width = Math.max(...Object.keys(menu).map((name) => name.length));
  const lines = Object.entries(menu).map(
    ([name, { description }]) => `  ${name.padEnd(width)}  ${description}\n`,
  );
  return lines.join("");
}

/** Runs a program until it ends, and returns its exit code, or 1 if a signal ended it. */
export async function runProgram(program: Program, args: readonly string[]): Promise<number> {
  const env = { ...process.env, ...program.environment };
  const child = spawn(process.execPath, [...program.node, ...args], { stdio: "inherit", env });
  const [code] = await once(child, "exit");
  return typeof code === "number" ? code : 1;
}

/** Runs all programs but the extra ones in their order until one fails, and returns its exit code, or 0. */
export async function runAll(menu: Menu): Promise<number> {
  for (const program of Object.values(menu).filter(({ isExtra }) => isExtra !== true)) {
    const code = await runProgram(program, []);
    if (code !== 0) return code;
  }
  return 0;
}

/**
 * Runs the program that the first argument names with the arguments after it, and returns its exit
 * code. Without a known name, prints the names and returns 2, or 0 for `--help`.
 */
export async function runNamed(
  usage: string,
  menu: Menu,
  [name = "", ...args]: readonly string[] = process.argv.slice(2),
): Promise<number> {
  const program = Object.hasOwn(menu, name) ? menu[name] : undefined;
  if (program !== undefined) return runProgram(program, args);
  const isHelp = name === "--help";
  const text = `Usage: ${usage}\n\n${listOf(menu)}`;
  (isHelp ? process.stdout : process.stderr).write(text);
  return isHelp ? 0 : 2;
}

/**
 * Runs a Vitest project with the options of the caller, and returns its exit code. With `--minutes N`
 * its long tests take that time; by default they are short.
 */
export async function runForMinutes(project: string, args: readonly string[]): Promise<number> {
  const at = args.indexOf("--minutes");
  const minutes = at < 0 ? 0 : Number(args[at + 1]);
  if (!(minutes >= 0)) {
    const found = args[at + 1] ?? "nothing";
    process.stderr.write(`--minutes: expected a number of minutes, found ${found}\n`);
    return 2;
  }
  const node = ["node_modules/vitest/vitest.mjs", "run", "--project", project];
  const environment = { VAULTSYNC_TEST_MINUTES: String(minutes) };
  const others = at < 0 ? args : args.toSpliced(at, 2);
  return runProgram({ description: "", node, environment }, others);
}
