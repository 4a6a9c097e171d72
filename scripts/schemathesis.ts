import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { VaultServerProcess } from "../test/lab/real/processes/vault-server-process.ts";
import { makeFixture } from "./schemathesis/fixture.ts";
import { getSchemathesis, SchemathesisMissingError } from "./schemathesis/get-schemathesis.ts";

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
