import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { makeFixture, type Account } from "./schemathesis/fixture.ts";
import { getSchemathesis, SchemathesisMissingError } from "./schemathesis/get-schemathesis.ts";

/**
 * Runs schemathesis with all checks against an ephemeral vault and the OpenAPI document that it
 * serves. Further arguments are passed to `schemathesis run`. Exits with the code of schemathesis,
 * with 1 when the server logged an error, with 2 without schemathesis.
 */

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const config = fileURLToPath(new URL("../test/schemathesis/schemathesis.toml", import.meta.url));
/** Working directory of schemathesis, with the files for `st replay`. */
const workspace = fileURLToPath(
  new URL("../node_modules/.cache/schemathesis-run/", import.meta.url),
);
const hooks = fileURLToPath(new URL("../test/schemathesis/hooks.py", import.meta.url));

interface Ready {
  readonly url: string;
  readonly users: readonly [Account, Account];
}

function isReady(line: unknown): line is Ready {
  return typeof line === "object" && line !== null && "url" in line && "users" in line;
}

async function startVault(): Promise<{
  readonly vault: ChildProcess;
  readonly ready: Ready;
  readonly errorLines: string[];
}> {
  const serve = [
    "vault",
    "serve",
    "--dev",
    "--dev-users",
    "ann@example.com,bob@example.com",
    "--listen",
    "127.0.0.1:0",
  ];
  const vault = spawn(process.execPath, [main, ...serve, "--log-level", "error"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const errorLines: string[] = [];
  createInterface(vault.stderr).on("line", (line) => errorLines.push(line));
  for await (const line of createInterface(vault.stdout)) {
    const ready: unknown = JSON.parse(line);
    if (isReady(ready)) return { vault, ready, errorLines };
  }
  throw new Error(`the vault did not start: ${errorLines.join("\n")}`);
}

async function run(): Promise<number> {
  const [command, ...args] = getSchemathesis();
  const { vault, ready, errorLines } = await startVault();
  try {
    const fixture = await makeFixture(ready.url, ...ready.users);
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
      `${ready.url}/v1/openapi.json`,
      "--checks",
      "all",
      ...process.argv.slice(2),
    ];
    await mkdir(workspace, { recursive: true });
    const child = spawn(command, [...args, ...options], { stdio: "inherit", env, cwd: workspace });
    process.once("SIGTERM", () => {
      child.kill();
      vault.kill();
    });
    const [code] = (await once(child, "exit")) as [number | null];
    for (const line of errorLines) process.stderr.write(`${line}\n`);
    return (code ?? 1) || Number(errorLines.length > 0);
  } finally {
    vault.kill();
  }
}

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof SchemathesisMissingError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
