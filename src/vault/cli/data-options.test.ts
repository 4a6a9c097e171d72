import { Command } from "commander";
import { expect, test, vi } from "vitest";
import { dataOption, rejectPassword } from "./data-options.ts";

/** Returns the error of a command with `--data`; empty when it accepts the arguments. */
function refusal(args: readonly string[], env: Record<string, string> = {}): string {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  let said = "";
  const command = new Command()
    .exitOverride()
    .configureOutput({ writeErr: (text) => (said += text) })
    .addOption(dataOption());
  command.action((_flags, self: Command) => rejectPassword(self));
  try {
    command.parse(args, { from: "user" });
  } catch {
    // The error was written.
  } finally {
    vi.unstubAllEnvs();
  }
  return said;
}

test("rejects a password on the command line with a remedy and without repeating it", () => {
  for (const url of [
    "postgres://vault:canary@db/vault",
    "postgresql://vault@db/vault?password=canary",
  ]) {
    const said = refusal(["--data", url]);
    expect(said).toContain(
      "set PGPASSWORD or PGPASSFILE, or pass the whole URL in the environment variable VAULTSYNC_VAULT_DATA",
    );
    expect(said).not.toContain("canary");
  }
});

test("accepts a password in the environment, a URL without one, and a file", () => {
  expect(refusal([], { VAULTSYNC_VAULT_DATA: "postgres://vault:canary@db/vault" })).toBe("");
  expect(refusal(["--data", "postgres://vault@db/vault"])).toBe("");
  expect(refusal(["--data", "vault.db"])).toBe("");
});
