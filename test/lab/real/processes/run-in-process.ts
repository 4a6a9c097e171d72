import { CommanderError } from "commander";
import { vi } from "vitest";
import { program } from "../../../../src/program.ts";
import type { ControlPlane } from "../../control-plane/control-plane.ts";
import type { ProcessResult } from "./vaultsync-process.ts";
import { messageOf } from "../../../../src/lib/errors.ts";

/** Runs a command of the operator as the administrator of a control plane. */
export const runAsAdmin = (
  { kubeconfigPath }: ControlPlane,
  [command = "", ...args]: readonly string[],
): Promise<ProcessResult> => runInProcess([command, "--kubeconfig", kubeconfigPath, ...args]);

/**
 * Runs a command that starts no server, and collects what it prints. It is faster than a child
 * process.
 */
export async function runInProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProcessResult> {
  const output = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((stream) =>
    vi
      .spyOn(process[stream], "write")
      .mockImplementation((chunk) => Boolean((output[stream] += chunk.toString()))),
  );
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    await program().parseAsync(args, { from: "user" });
    return { code: Number(process.exitCode ?? 0), ...output };
  } catch (error) {
    // The same exit codes as src/main.ts.
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, ...output };
    return {
      code: 1,
      stdout: output.stdout,
      stderr: `${output.stderr}vaultsync: ${messageOf(error)}\n`,
    };
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
}
