import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { messageOf } from "../../../src/lib/errors.ts";

const run = promisify(execFile);
const daemonTimeoutMs = 3000;

/**
 * Runs a command of Docker's and returns its standard output. @throws Error with the end of its
 * standard error
 */
export async function docker(args: readonly string[], { timeoutMs = 0 } = {}): Promise<string> {
  try {
    const options = { timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
    return (await run("docker", args, options)).stdout.trim();
  } catch (error) {
    const text =
      error instanceof Error && "stderr" in error && typeof error.stderr === "string"
        ? error.stderr.trim()
        : "";
    const reason = text.split("\n").at(-1) || messageOf(error);
    throw new Error(`docker ${args[0]}: ${reason}`, { cause: error });
  }
}

/**
 * Returns the version of the Docker daemon; `undefined` when there is none, after milliseconds
 * where Docker is not installed.
 */
export async function dockerDaemon(): Promise<string | undefined> {
  try {
    return await docker(["version", "--format", "{{.Server.Version}}"], {
      timeoutMs: daemonTimeoutMs,
    });
  } catch {
    return undefined;
  }
}

export async function hasImage(image: string): Promise<boolean> {
  return docker(["image", "inspect", image]).then(
    () => true,
    () => false,
  );
}

/**
 * Pulls an image unless the daemon has it. Returns `undefined` on success, or why it cannot be had.
 */
export async function provideImage(image: string, timeoutMs: number): Promise<string | undefined> {
  if (await hasImage(image)) return undefined;
  try {
    await docker(["pull", "--quiet", image], { timeoutMs });
    return undefined;
  } catch (error) {
    return `${image} cannot be pulled (${messageOf(error)})`;
  }
}

/**
 * Reports whether the daemon has its bridge network. Without it, containers and builds use the
 * network of the machine.
 */
export async function hasBridge(): Promise<boolean> {
  return (await docker(["network", "ls", "--format", "{{.Driver}}"]))
    .split("\n")
    .includes("bridge");
}

/**
 * Lets testcontainers work with a daemon that has no bridge network, whose gateway it would ask for
 * inside of a container.
 */
export async function prepareTestcontainers(): Promise<void> {
  if (!(await hasBridge())) process.env["TESTCONTAINERS_HOST_OVERRIDE"] ??= "127.0.0.1";
}
