import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Redacted } from "../src/lib/redacted.ts";
import {
  type FileUpload,
  VaultClient,
  type VaultResponse,
} from "../test/lab/vault/vault-client.ts";

/** The account in examples/demo/10-connection.yaml. */
export const account = "shop@example.com";

const ProtectResponse = z.object({
  secret: z.object({ key_version: z.int(), delete_at: z.union([z.string(), z.number()]) }),
});
const UploadResponse = z.object({
  files: z.array(
    z.object({ filename: z.string(), version: z.int(), size: z.int(), sha256: z.string() }),
  ),
});

export type UploadedFile = z.infer<typeof UploadResponse>["files"][number];

/** A user of the vault: login, protect, upload. */
export class VaultAccount {
  readonly #client: VaultClient;

  private constructor(client: VaultClient) {
    this.#client = client;
  }

  static async login(
    url: string,
    email: string,
    password: Redacted<string>,
  ): Promise<VaultAccount> {
    const client = new VaultClient(url, email);
    succeeded("generate_access_token", await client.logIn(password.reveal()));
    return new VaultAccount(client);
  }

  /** Creates a new version. `deleteAt` is the time of the removal, in ms since the epoch. */
  async protect(
    name: string,
    value: Redacted<string>,
    { deleteTimeMinutes }: { deleteTimeMinutes?: number } = {},
  ): Promise<{ version: number; deleteAt: number }> {
    const body = { key_name: name, key_value: value.reveal(), delete_time: deleteTimeMinutes };
    const response = succeeded("protect", await this.#client.call("protect", body));
    const { secret } = ProtectResponse.parse(response.json());
    return { version: secret.key_version, deleteAt: new Date(secret.delete_at).getTime() };
  }

  async upload(files: readonly FileUpload[]): Promise<UploadedFile[]> {
    return UploadResponse.parse(succeeded("protect_file", await this.#client.upload(files)).json())
      .files;
  }
}

/** Returns a response of status 200. @throws Error without the body, which may quote the request */
function succeeded(operation: string, response: VaultResponse): VaultResponse {
  if (response.status !== 200)
    throw new Error(`${operation}: the vault responded with ${response.outcome()}`);
  return response;
}

const filesDirectory = join(import.meta.dirname, "..", "examples", "demo", "files");

/** The vault entries that examples/demo/*.yaml refer to. */
export interface VaultContent {
  /** The versions of shop-db, oldest first. */
  readonly shopDb: readonly Redacted<string>[];
  readonly files: readonly UploadedFile[];
}

/** Returns a random value that occurs nowhere else. */
export function newValue(): Redacted<string> {
  return new Redacted(randomBytes(24).toString("base64url"));
}

export async function exampleFile(
  filename: string,
): Promise<{ filename: string; bytes: Uint8Array<ArrayBuffer> }> {
  return { filename, bytes: new Uint8Array(await readFile(join(filesDirectory, filename))) };
}

/** Stores two versions of shop-db and the two files of examples/demo/files. */
export async function fillVault(vault: VaultAccount): Promise<VaultContent> {
  const shopDb = [newValue(), newValue()];
  for (const value of shopDb) await vault.protect("shop-db", value);
  const files = await vault.upload(await Promise.all(["app.conf", "logo.png"].map(exampleFile)));
  return { shopDb, files };
}
