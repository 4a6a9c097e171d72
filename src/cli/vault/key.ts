import type { Command } from "commander";
import { readFile } from "node:fs/promises";
import { parseMasterKeys } from "../../vault-server/crypto/key-file.ts";
import { generateMasterKeyFile } from "./master-key-file.ts";

/** `vaultsync vault key`. */
export function keyCommand(parent: Command): void {
  const key = parent.command("key").description("Master keys.");
  key
    .command("generate")
    .description("Writes a new master key to a file that only its owner can read. Keep a copy: without it the data is lost.")
    .argument("<file>", "must not exist yet")
    .action(async (file: string) => {
      process.stderr.write(`made the master key ${await generateMasterKeyFile(file)}\n`);
    });
  key
    .command("list")
    .description("Prints the ids of the master keys in a file, one a line. An id says nothing about its key.")
    .argument("<file>", "master keys in base64, one a line")
    .action(async (file: string) => {
      for (const { id } of parseMasterKeys(await readFile(file, "utf8"))) process.stdout.write(`${id}\n`);
    });
}
