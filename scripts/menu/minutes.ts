import { runProgram } from "./menu.ts";

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
