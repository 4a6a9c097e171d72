import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The release that produced the documented results. */
const RELEASE = "4.32.5";

const environment = fileURLToPath(
  new URL("../../node_modules/.cache/schemathesis/", import.meta.url),
);

/** Schemathesis cannot be installed. The message names what to install. */
export class SchemathesisMissingError extends Error {
  override readonly name = "SchemathesisMissingError";
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0)
    throw new SchemathesisMissingError(
      `\`${command} ${args.join(" ")}\` failed; python3 needs its venv module, and pip access to a package index`,
    );
}

/**
 * Returns the command that starts schemathesis: the installed one, uvx, or a Python environment
 * created once under node_modules/.cache.
 * @throws SchemathesisMissingError
 */
export function getSchemathesis(): readonly [command: string, ...args: string[]] {
  if (succeeds("schemathesis", ["--version"])) return ["schemathesis"];
  if (succeeds("uvx", ["--version"])) return ["uvx", `schemathesis==${RELEASE}`];
  if (!succeeds("python3", ["--version"])) {
    throw new SchemathesisMissingError(
      "schemathesis requires python3; install python3 (3.10 or later) with venv and pip, or schemathesis itself",
    );
  }
  const installed = join(environment, "bin", "schemathesis");
  if (!existsSync(installed)) {
    process.stderr.write(`installing schemathesis ${RELEASE} into ${environment}\n`);
    run("python3", ["-m", "venv", environment]);
    run(join(environment, "bin", "python"), [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      `schemathesis==${RELEASE}`,
    ]);
  }
  return [installed];
}
