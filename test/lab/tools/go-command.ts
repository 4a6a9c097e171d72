import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { codeOf, messageOf } from "../../../src/lib/errors.ts";
import { goPlatform } from "./install.ts";

const run = promisify(execFile);
const minimumMinor = 26;

/** The name of Go with the oldest release that builds the binaries. */
export const requiredGo = `Go 1.${minimumMinor} or later`;

/** Builds packages of a module with the installed Go. */
export interface GoCommand {
  /** For example `go1.26.8`. */
  readonly version: string;
  /** Returns the number of packages that `packages` of the module in `directory` consist of. */
  count(directory: string, packages: readonly string[]): Promise<number>;
  /** Returns the directory of a module that the module in `directory` requires. */
  moduleDirectory(directory: string, path: string): Promise<string>;
  /**
   * Runs `go build` with `args` in `directory`. `onPackage` receives the path of each package that
   * was compiled.
   * @throws Error with the last lines that the compiler printed
   */
  build(
    directory: string,
    args: readonly string[],
    onPackage?: (path: string) => void,
  ): Promise<void>;
}

/** Returns the installed Go, or why it cannot be used. */
export async function findGo(environment: NodeJS.ProcessEnv): Promise<GoCommand | { why: string }> {
  const env = buildEnvironment(environment);
  const version = await goVersion(env);
  if (typeof version !== "string") return version;
  return {
    version,
    async count(directory, packages) {
      // -mod=readonly overrides a -mod in GOFLAGS that may require a missing vendor directory.
      const list = ["list", "-mod=readonly", "-deps", ...packages];
      const { stdout } = await run("go", list, { cwd: directory, env, maxBuffer: 1 << 26 });
      return stdout.trim().split("\n").length;
    },
    async moduleDirectory(directory, path) {
      const list = ["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path];
      return (await run("go", list, { cwd: directory, env })).stdout.trim();
    },
    build: (directory, args, onPackage = () => {}) => compile(directory, args, env, onPackage),
  };
}

/**
 * Returns an environment in which the caller's workspace, target platform or cgo settings do not
 * affect the build.
 */
function buildEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { os, arch } = goPlatform();
  return {
    ...environment,
    CGO_ENABLED: "0",
    GOWORK: "off",
    GO111MODULE: "on",
    GOOS: os,
    GOARCH: arch,
  };
}

async function goVersion(env: NodeJS.ProcessEnv): Promise<string | { why: string }> {
  try {
    const { stdout } = await run("go", ["env", "GOVERSION"], { cwd: import.meta.dirname, env });
    const minor = /go1\.(\d+)/.exec(stdout)?.[1];
    if (Number(minor) >= minimumMinor) return stdout.trim();
    return { why: `found ${stdout.trim() || "an unknown version"}` };
  } catch (error) {
    const missing = codeOf(error) === "ENOENT";
    return { why: missing ? "no go command" : `cannot run go: ${lastLine(error)}` };
  }
}

async function compile(
  directory: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onPackage: (path: string) => void,
): Promise<void> {
  const command = ["build", "-mod=readonly", "-trimpath", "-v", ...args];
  const child = spawn("go", command, { cwd: directory, env, stdio: ["ignore", "ignore", "pipe"] });
  const errors: string[] = [];
  const lines = createInterface({ input: child.stderr });
  lines.on("line", (line) => {
    if (/^[\w.\-/]+$/.test(line)) onPackage(line);
    else if (!line.startsWith("go: downloading")) errors.push(line);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`go build failed: ${errors.slice(-5).join(" / ")}`);
}

function lastLine(error: unknown): string {
  const text = messageOf(error);
  return text.trim().split("\n").at(-1) ?? "";
}
