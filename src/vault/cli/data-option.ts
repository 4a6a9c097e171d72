import { Option, type Command } from "commander";
import { containsPassword } from "../server/store/postgres/postgres-location.ts";

/** Returns the option `--data`; {@link rejectPassword} checks its value. */
export function dataOption(): Option {
  return new Option(
    "--data <file>",
    "SQLite file or PostgreSQL URL (postgres://…) of the vault's data",
  ).env("VAULTSYNC_VAULT_DATA");
}

/** Rejects a password in `--data`: every user of the machine can read a command line. */
export function rejectPassword(command: Command): void {
  const data: unknown = command.getOptionValue("data");
  if (
    command.getOptionValueSource("data") !== "cli" ||
    typeof data !== "string" ||
    !containsPassword(data)
  )
    return;
  command.error(
    "error: --data must not contain a password: set PGPASSWORD or PGPASSFILE, or pass the whole URL " +
      "in the environment variable VAULTSYNC_VAULT_DATA",
  );
}
