import type { Command } from "commander";
import { readFile, writeFile } from "node:fs/promises";
import { codeOf } from "../../lib/error-code.ts";
import { parseMasterKeys } from "../server/crypto/key-file.ts";
import { generateMasterKey, MasterKey } from "../server/crypto/master-key.ts";

/**
 * Generates a master key in a file that only its owner can read, and returns its id. @throws Error
 * when the file exists
 */
async function generateMasterKeyFile(path: string): Promise<string> {
  const key = generateMasterKey();
  const text = `${Buffer.from(key.reveal()).toString("base64")}\n`;
  await writeFile(path, text, { flag: "wx", mode: 0o600 }).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new Error(
      `${path} exists and is not replaced, because data may need the key in it: choose another file`,
    );
  });
  return new MasterKey(key).id;
}

/** Adds `vaultsync vault key`. */
export function keyCommand(parent: Command): void {
  const key = parent.command("key").description("Manage master keys.");
  key
    .command("generate")
    .description(
      "Generate a master key in a file that only its owner can read. Keep a copy: without the key the data is lost.",
    )
    .argument("<file>", "key file; must not exist yet")
    .action(async (file: string) => {
      process.stderr.write(`generated the master key ${await generateMasterKeyFile(file)}\n`);
    });
  key
    .command("list")
    .description(
      "Print the ids of the master keys in a file, one per line. An id reveals nothing about its key.",
    )
    .argument("<file>", "key file: base64-encoded master keys, one per line")
    .action(async (file: string) => {
      for (const { id } of parseMasterKeys(await readFile(file, "utf8")))
        process.stdout.write(`${id}\n`);
    });
}
