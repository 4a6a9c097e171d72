import { readFile } from "node:fs/promises";
import { codeOf } from "../../lib/errors.ts";
import { createPrivateFile, parseMasterKeys } from "../server/crypto/key-file.ts";
import { generateMasterKey, MasterKey } from "../server/crypto/master-key.ts";

/**
 * Generates a master key in a file that only its owner can read, and returns its id. @throws Error
 * when the file exists
 */
function generateMasterKeyFile(path: string): string {
  const key = generateMasterKey();
  const text = `${Buffer.from(key.reveal()).toString("base64")}\n`;
  try {
    createPrivateFile(path, text);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new Error(
      `${path} exists and is not replaced, because data may need the key in it: choose another file`,
      { cause: error },
    );
  }
  return new MasterKey(key).id;
}

/** Generates a master key in a new file, and prints its id. */
export async function generateKey(file: string): Promise<void> {
  process.stderr.write(`generated the master key ${generateMasterKeyFile(file)}\n`);
}

/** Prints the ids of the master keys in a file. */
export async function listKeys(file: string): Promise<void> {
  for (const { id } of parseMasterKeys(await readFile(file, "utf8")))
    process.stdout.write(`${id}\n`);
}
