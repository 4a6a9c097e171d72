import { existsSync } from "node:fs";
import { openStore } from "../server/store/open-store.ts";
import { isPostgresUrl } from "../server/store/postgres/postgres-location.ts";
import type { RowMacs } from "../server/store/row-macs.ts";
import type { Store } from "../server/store/store.ts";

/**
 * Opens a store that must exist.
 * @param macs of `openStore`
 * @throws Error when the file does not exist, instead of creating an empty one
 */
export async function openExistingStore(data: string, macs?: RowMacs): Promise<Store> {
  if (!isPostgresUrl(data) && !existsSync(data)) throw new Error(`data file not found: ${data}`);
  return openStore(data, macs);
}
