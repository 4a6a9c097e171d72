import { writeFile } from "node:fs/promises";
import { generateMasterKey, MasterKey } from "../../vault-server/crypto/master-key.ts";

/** Generates a master key in a file that only its owner can read, and returns its id. @throws Error when the file exists */
export async function generateMasterKeyFile(path: string): Promise<string> {
  const key = generateMasterKey();
  await writeFile(path, `${Buffer.from(key.reveal()).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
  return new MasterKey(key).id;
}
