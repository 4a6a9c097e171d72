import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { VaultClient } from "../../../protocol/client/vault-client.ts";
import { type EntryReader, References } from "./resolve-references.ts";

/**
 * Returns the files of logins at a path: all of a directory. A path that does not exist is
 * returned, because opening it says to log in.
 */
async function loginsAt(path: string): Promise<string[]> {
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => join(path, name));
}

/**
 * Opens the logins of files and directories. Loads the client of the vault.
 * @param readerOf returns what reads values; without it, none is read
 * @throws Error that says to log in, when there is none
 */
export async function openLogins(
  { account }: { readonly account: string | readonly string[] },
  { readerOf }: { readonly readerOf?: (client: VaultClient) => EntryReader } = {},
): Promise<References[]> {
  const { VaultClient } = await import("../../../protocol/client/vault-client.ts");
  const files = (await Promise.all([account].flat().map(loginsAt))).flat();
  if (files.length === 0) throw new Error("not logged in: run vaultsync login");
  return Promise.all(
    files.map(async (file) => {
      const client = await VaultClient.open(file);
      return new References(client, readerOf?.(client));
    }),
  );
}
