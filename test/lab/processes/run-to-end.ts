import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

/** The output of a program, and its exit code: 1 when a signal ended it. */
export interface ProgramResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** Added to the variables of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Text for its standard input; omitted: none. */
  readonly input?: string;
  /** Ten minutes by default: nothing waits indefinitely for a program that hangs. */
  readonly timeoutMs?: number;
}

/**
 * Runs a program to its end, whatever its exit code.
 * @throws Error when it cannot be started, or has not ended in time and is killed
 */
export async function runToEnd(
  program: string,
  args: readonly string[],
  { cwd, env, input = "", timeoutMs = 600_000 }: ProgramOptions = {},
): Promise<ProgramResult> {
  const signal = AbortSignal.timeout(timeoutMs);
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    signal,
    killSignal: "SIGKILL",
  });
  // A program that does not read its input may end first.
  child.stdin.on("error", () => {}).end(input);
  try {
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close"),
    ]);
    return { stdout, stderr, code: typeof code === "number" ? code : 1 };
  } catch (error) {
    // A process that it started may still have them.
    child.stdout.destroy();
    child.stderr.destroy();
    if (!signal.aborted) throw error;
    const command = [program, ...args].join(" ");
    throw new Error(`${command} did not end within ${timeoutMs / 1000} s`, { cause: error });
  }
}
