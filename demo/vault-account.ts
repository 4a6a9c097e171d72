import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Redacted } from "../src/lib/redacted.ts";
import { formatScope } from "../src/protocol/format-scope.ts";
import { operationPath, type Operation } from "../src/protocol/operation-paths.ts";
import { unlimitedScope } from "../src/protocol/scope.ts";

const timeoutMs = 10_000;
const TokenResponse = z.object({ access_token: z.string() });
const ProtectResponse = z.object({ secret: z.object({ key_version: z.int(), delete_at: z.union([z.string(), z.number()]) }) });
const UploadResponse = z.object({
  files: z.array(z.object({ filename: z.string(), version: z.int(), size: z.int(), sha256: z.string() })),
});

export type UploadedFile = z.infer<typeof UploadResponse>["files"][number];

/** A vault client for a user: login, protect, upload. The operator has a client of its own, which only reads. */
export class VaultAccount {
  readonly #url: string;
  readonly #email: string;
  readonly #token: Redacted<string>;

  private constructor(url: string, email: string, token: Redacted<string>) {
    this.#url = url;
    this.#email = email;
    this.#token = token;
  }

  static async login(url: string, email: string, password: Redacted<string>): Promise<VaultAccount> {
    const body = { email, password: password.reveal(), scope: formatScope(unlimitedScope), expiration_hours: 24 };
    const response = await post(url, "generate_access_token", { "content-type": "application/json" }, JSON.stringify(body));
    return new VaultAccount(url, email, new Redacted(TokenResponse.parse(response).access_token));
  }

  /** Creates a new version. `deleteAt` is the time of the removal, in ms since the epoch. */
  async protect(
    name: string,
    value: Redacted<string>,
    options: { deleteTimeMinutes?: number } = {},
  ): Promise<{ version: number; deleteAt: number }> {
    const { deleteTimeMinutes } = options;
    const headers = { "content-type": "application/json", authorization: this.#token.reveal() };
    const body = {
      email: this.#email,
      key_name: name,
      key_value: value.reveal(),
      ...(deleteTimeMinutes !== undefined && { delete_time: deleteTimeMinutes }),
    };
    const { secret } = ProtectResponse.parse(await post(this.#url, "protect", headers, JSON.stringify(body)));
    return { version: secret.key_version, deleteAt: new Date(secret.delete_at).getTime() };
  }

  async upload(
    files: readonly { readonly filename: string; readonly bytes: Uint8Array<ArrayBuffer> }[],
  ): Promise<UploadedFile[]> {
    const form = new FormData();
    for (const { filename, bytes } of files) form.append("file", new Blob([bytes]), filename);
    const headers = { authorization: this.#token.reveal(), email: this.#email, countoffiles: String(files.length) };
    return UploadResponse.parse(await post(this.#url, "protect_file", headers, form)).files;
  }
}

async function post(
  url: string,
  operation: Operation,
  headers: Record<string, string>,
  body: string | FormData,
): Promise<unknown> {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url + operationPath[operation], { method: "POST", headers, body, signal });
  // The body of an error may quote the request, so it is not read.
  if (!response.ok) throw new Error(`${operation}: the vault responded with ${response.status}`);
  return response.json();
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

export async function exampleFile(filename: string): Promise<{ filename: string; bytes: Uint8Array<ArrayBuffer> }> {
  return { filename, bytes: new Uint8Array(await readFile(join(filesDirectory, filename))) };
}

/** Stores two versions of shop-db and the two files of examples/demo/files. */
export async function fillVault(vault: VaultAccount): Promise<VaultContent> {
  const shopDb = [newValue(), newValue()];
  for (const value of shopDb) await vault.protect("shop-db", value);
  const files = await vault.upload(await Promise.all(["app.conf", "logo.png"].map(exampleFile)));
  return { shopDb, files };
}
