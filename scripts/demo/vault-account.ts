import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Redacted } from "../../src/lib/redacted.ts";
import { logIn, VaultClient } from "../../src/protocol/client/vault-client.ts";
import { CREDENTIALS_TYPE } from "../../src/operator/api/names.ts";
import { protect } from "../../src/protocol/operations/secrets.ts";
import type { UploadedFile } from "../../src/protocol/responses.ts";
import { unlimitedScope, formatScope } from "../../src/protocol/scope.ts";

/** The account in examples/demo/10-connection.yaml. */
export const account = "shop@example.com";

/** The namespace of examples/demo. */
export const demoNamespace = "vaultsync-demo";

/**
 * Returns the Secret that examples/demo/10-connection.yaml refers to, for `kubectl create -f -`:
 * never on a command line.
 */
export function loginSecret(password: Redacted<string>): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "vault-login", namespace: demoNamespace },
    type: CREDENTIALS_TYPE,
    stringData: { password: password.reveal() },
  });
}

/** Logs in to a vault with that account. `ca` is the authority of its certificate. @throws Error */
export async function logInAsShop(
  url: string,
  password: Redacted<string>,
  ca?: string,
): Promise<VaultClient> {
  const login = { email: account, password, scope: formatScope(unlimitedScope), hours: 24 };
  return new VaultClient(await logIn({ url, ca }, login));
}

/** Creates a new version. `deleteAt` is the time of the removal, in ms since the epoch. */
export async function protectValue(
  vault: VaultClient,
  name: string,
  value: Redacted<string>,
  deleteTimeMinutes?: number,
): Promise<{ readonly version: number; readonly deleteAt: number }> {
  const { secret } = await vault.call(protect, {
    key_name: name,
    key_value: value.reveal(),
    delete_time: deleteTimeMinutes,
  });
  return { version: secret.key_version, deleteAt: new Date(secret.delete_at).getTime() };
}

const filesDirectory = join(import.meta.dirname, "../..", "examples", "demo", "files");

/** The vault entries that examples/demo/*.yaml refer to. */
export interface VaultContent {
  /** The versions of shop-db, oldest first. */
  readonly shopDb: readonly Redacted<string>[];
  /** The first version of payments. */
  readonly payments: Redacted<string>;
  readonly files: readonly UploadedFile[];
}

/** Returns a random value that occurs nowhere else. */
export function newValue(): Redacted<string> {
  return new Redacted(randomBytes(24).toString("base64url"));
}

/** Returns the bytes of a file in examples/demo/files. */
export async function exampleFile(filename: string): Promise<Buffer<ArrayBuffer>> {
  return readFile(join(filesDirectory, filename));
}

/** Stores two versions of shop-db, one of payments, and the two files of examples/demo/files. */
export async function fillVault(vault: VaultClient): Promise<VaultContent> {
  const shopDb = [newValue(), newValue()];
  const payments = newValue();
  for (const value of shopDb) await protectValue(vault, "shop-db", value);
  await protectValue(vault, "payments", payments);
  const blobs = new Map<string, Blob>();
  for (const filename of ["app.conf", "logo.png"])
    blobs.set(filename, new Blob([await exampleFile(filename)]));
  const { files } = await vault.upload(blobs);
  return { shopDb, payments, files };
}
