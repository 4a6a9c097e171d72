import { execFileSync } from "node:child_process";

/** Runs a program and returns its output. @throws Error with the end of its output when it fails */
export function command(
  program: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): string {
  try {
    const options = {
      cwd,
      encoding: "utf8",
      env: { ...process.env, ...env },
      maxBuffer: 1 << 28,
    } as const;
    return execFileSync(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const end = `${stdout}${stderr}`.trim().split("\n").slice(-10).join("\n");
    throw new Error(`${program} ${args.join(" ")} failed:\n${end}`, { cause: error });
  }
}
