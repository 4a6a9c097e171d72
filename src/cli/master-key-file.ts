import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { Redacted } from "../lib/redacted.ts";

const KEY_BYTES = 32;

/** 32 bytes in base64. @throws Error that says what to do */
export function parseMasterKey(text: string): Redacted<Uint8Array> {
  const key = Buffer.from(text.trim(), "base64");
  if (key.length !== KEY_BYTES || key.toString("base64") !== text.trim()) {
    throw new Error("a master key is 32 bytes in base64: make one with `vaultsync vault key generate FILE`");
  }
  return new Redacted(key);
}

export async function readMasterKey(path: string): Promise<Redacted<Uint8Array>> {
  return parseMasterKey(await readFile(path, "utf8"));
}

/** Writes a new one that only the owner of the file can read. @throws Error when the file exists */
export async function generateMasterKeyFile(path: string): Promise<void> {
  await writeFile(path, `${randomBytes(KEY_BYTES).toString("base64")}\n`, { flag: "wx", mode: 0o600 });
}
