import { existsSync } from "node:fs";
import { isPostgresUrl } from "./postgres/postgres-location.ts";
import { openPostgresStore } from "./postgres/postgres-store.ts";
import type { RowMacs } from "./row-macs.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";
import type { Store } from "./store.ts";

/**
 * Opens the store at a location, creating or migrating it as needed.
 * @param location `postgres://…` or `postgresql://…`; anything else is a file path or `":memory:"`
 * @param macs seals and checks the rows that decide who reads what; commands that neither write
 * them nor rely on them need none
 * @throws Error when it cannot be opened or was written by a newer release
 */
export async function openStore(location: string, macs?: RowMacs): Promise<Store> {
  return isPostgresUrl(location)
    ? openPostgresStore(location, { macs })
    : openSqliteStore(location, macs);
}

/**
 * Opens the store for a command, creating it as needed. It does not migrate it: a server of an
 * earlier release may be using it.
 * @param macs of `openStore`
 * @throws Error of `openStore`; when an earlier release has written it
 */
export async function openForCommand(location: string, macs?: RowMacs): Promise<Store> {
  return isPostgresUrl(location)
    ? openPostgresStore(location, { macs, migrates: false })
    : openSqliteStore(location, macs, false);
}

/**
 * Opens a store that must exist, for a command.
 * @param macs of `openStore`
 * @throws Error of `openForCommand`; when the file does not exist, instead of creating an empty one
 */
export async function openExistingStore(data: string, macs?: RowMacs): Promise<Store> {
  if (!isPostgresUrl(data) && !existsSync(data)) throw new Error(`data file not found: ${data}`);
  return openForCommand(data, macs);
}
