import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { VaultServerProcess } from "../test/lab/real/processes/vault-server-process.ts";
import { makeFixture } from "./schemathesis/fixture.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";

/** The release that produced the documented results. */
const RELEASE = "4.32.5";

const environment = fileURLToPath(new URL("../node_modules/.cache/schemathesis", import.meta.url));

/** Schemathesis cannot be installed. The message names what to install. */
class SchemathesisMissingError extends Error {
  override readonly name = "SchemathesisMissingError";
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}

function runProgram(command: string, args: readonly string[]): void {
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
function getSchemathesis(): readonly [command: string, ...args: string[]] {
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
    runProgram("python3", ["-m", "venv", environment]);
    runProgram(join(environment, "bin", "python"), [
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

/**
 * Runs schemathesis with all checks against an ephemeral vault and the OpenAPI document that it
 * serves. Further arguments are passed to `schemathesis run`. Exits with the code of schemathesis,
 * with 1 when the server logged an error, with 2 without schemathesis.
 */

const [ann, bob] = ["ann@example.com", "bob@example.com"] as const;
const config = fileURLToPath(new URL("../test/schemathesis/schemathesis.toml", import.meta.url));
/** Working directory of schemathesis, with the files for `st replay`. */
const workspace = fileURLToPath(
  new URL("../node_modules/.cache/schemathesis-run/", import.meta.url),
);
const hooks = fileURLToPath(new URL("../test/schemathesis/hooks.py", import.meta.url));

async function run(): Promise<number> {
  const [command, ...args] = getSchemathesis();
  await using vault = await VaultServerProcess.start([
    "--dev",
    "--dev-users",
    `${ann},${bob}`,
    "--log-level",
    "error",
  ]);
  const fixture = await makeFixture(vault, ann, bob);
  const env = {
    ...process.env,
    SCHEMATHESIS_HOOKS: hooks,
    VAULT_TOKEN: fixture.token,
    VAULT_FIXTURE: JSON.stringify(fixture),
  };
  const options = [
    "--config-file",
    config,
    "run",
    `${vault.url}/v1/openapi.json`,
    "--checks",
    "all",
    ...process.argv.slice(2),
  ];
  await mkdir(workspace, { recursive: true });
  const child = spawn(command, [...args, ...options], { stdio: "inherit", env, cwd: workspace });
  process.once("SIGTERM", () => {
    child.kill();
    vault.signal("SIGTERM");
  });
  const [code] = (await once(child, "exit")) as [number | null];
  process.stderr.write(vault.stderr);
  return (code ?? 1) || Number(vault.stderr !== "");
}

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof SchemathesisMissingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
