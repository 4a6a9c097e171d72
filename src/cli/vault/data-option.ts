import { existsSync } from "node:fs";
import { Option, type Command } from "commander";
import { openStore } from "../../vault-server/store/open-store.ts";
import { containsPassword, isPostgresUrl } from "../../vault-server/store/postgres/postgres-location.ts";
import type { Store } from "../../vault-server/store/store.ts";

export function dataOption(): Option {
  return new Option("--data <file>", "where everything is kept: one SQLite file, or a PostgreSQL database (postgres://…)").env(
    "VAULTSYNC_VAULT_DATA",
  );
}

/** Everybody on the machine can read a command line. */
export function refusePassword(command: Command): void {
  const data: unknown = command.getOptionValue("data");
  if (command.getOptionValueSource("data") !== "cli" || typeof data !== "string" || !containsPassword(data)) return;
  command.error(
    "error: refusing a password on the command line: leave it out of --data and set PGPASSWORD or PGPASSFILE, or give the whole URL " +
      "in the environment variable VAULTSYNC_VAULT_DATA",
  );
}

/** For commands that work with data there is. @throws Error when there is no such file, instead of making an empty one */
export async function openExistingStore(data: string): Promise<Store> {
  if (!isPostgresUrl(data) && !existsSync(data)) throw new Error(`there is no data file ${data}`);
  return openStore(data);
}
