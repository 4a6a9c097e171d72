import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The release that the repository's figures are from. */
const RELEASE = "4.32.5";

const environment = fileURLToPath(new URL("../../node_modules/.cache/schemathesis/", import.meta.url));

/** What is missing, for a person. */
export class Missing extends Error {
  override readonly name = "Missing";
}

function runs(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function make(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0)
    throw new Missing(`\`${command} ${args.join(" ")}\` failed: python3 needs its venv module, and pip a package index`);
}

/**
 * A command that starts schemathesis: an installed one, through uvx, or from a Python environment made once under node_modules/.cache.
 * @throws Missing
 */
export function getSchemathesis(): readonly [command: string, ...args: string[]] {
  if (runs("schemathesis", ["--version"])) return ["schemathesis"];
  if (runs("uvx", ["--version"])) return ["uvx", `schemathesis==${RELEASE}`];
  if (!runs("python3", ["--version"])) {
    throw new Missing(
      "schemathesis is a Python program: install python3 (3.10 or later) with venv and pip, or schemathesis itself",
    );
  }
  const installed = join(environment, "bin", "schemathesis");
  if (!existsSync(installed)) {
    process.stderr.write(`getting schemathesis ${RELEASE} into ${environment}\n`);
    make("python3", ["-m", "venv", environment]);
    make(join(environment, "bin", "python"), [
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
