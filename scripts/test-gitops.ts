import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { terminalProgress } from "../test/lab/control-plane/progress.ts";
import { gitOpsPrograms } from "../test/lab/gitops/programs.ts";
import { GoMissingError } from "../test/lab/tools/go-tool.ts";
import { runForMinutes } from "./menu/menu.ts";

const help = `Test the custom resources with Flux and with Argo CD's comparison, next to a real control plane (Vitest project "gitops").

Usage: npm test -- gitops [--minutes N] [VITEST OPTIONS]

  --minutes N   time in which Flux must find no drift while the operator works (default: four changes)

Where git or Go is missing, it says so and exits with 0. Otherwise the exit code is Vitest's.
`;

/** Returns why this machine cannot run the tests, or `undefined`. */
async function whyNot(): Promise<string | undefined> {
  try {
    const programs = execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim();
    if (!existsSync(join(programs, "git-http-backend"))) return "git has no http-backend";
  } catch {
    return "there is no git";
  }
  try {
    await gitOpsPrograms(terminalProgress());
  } catch (error) {
    if (error instanceof GoMissingError) return error.message;
    throw error;
  }
  return undefined;
}

const args = process.argv.slice(2);
if (args.includes("--help")) {
  process.stdout.write(help);
} else {
  const why = await whyNot();
  if (why === undefined) process.exitCode = await runForMinutes("gitops", args);
  else process.stdout.write(`NOT RUN: the tests with Flux and Argo CD: ${why}.\n`);
}
