import { existsSync } from "node:fs";
import { Option, type Command } from "commander";
import { openStore } from "../server/store/open-store.ts";
import { containsPassword, isPostgresUrl } from "../server/store/postgres/postgres-location.ts";
import type { RowMacs } from "../server/store/row-macs.ts";
import type { Store } from "../server/store/store.ts";

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

/**
 * Opens a store that must exist.
 * @param macs of `openStore`
 * @throws Error when the file does not exist, instead of creating an empty one
 */
export async function openExistingStore(data: string, macs?: RowMacs): Promise<Store> {
  if (!isPostgresUrl(data) && !existsSync(data)) throw new Error(`data file not found: ${data}`);
  return openStore(data, macs);
}
