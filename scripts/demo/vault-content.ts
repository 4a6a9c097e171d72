import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Redacted } from "../../src/lib/redacted.ts";
import type { UploadedFile, VaultAccount } from "./vault-account.ts";

const filesDirectory = join(import.meta.dirname, "..", "..", "examples", "demo", "files");

/** What examples/demo/*.yaml refer to. */
export interface VaultContent {
  /** The versions of shop-db, oldest first. */
  readonly shopDb: readonly Redacted<string>[];
  readonly files: readonly UploadedFile[];
}

/** A value that nobody chose and that occurs nowhere else. */
export function newValue(): Redacted<string> {
  return new Redacted(randomBytes(24).toString("base64url"));
}

export async function exampleFile(filename: string): Promise<{ filename: string; bytes: Uint8Array<ArrayBuffer> }> {
  return { filename, bytes: new Uint8Array(await readFile(join(filesDirectory, filename))) };
}

/** Two versions of shop-db and the two files of examples/demo/files. */
export async function fillVault(vault: VaultAccount): Promise<VaultContent> {
  const shopDb = [newValue(), newValue()];
  for (const value of shopDb) await vault.protect("shop-db", value);
  const files = await vault.upload(await Promise.all(["app.conf", "logo.png"].map(exampleFile)));
  return { shopDb, files };
}
