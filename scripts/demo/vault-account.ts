import { z } from "zod";
import { Redacted } from "../../src/lib/redacted.ts";
import { formatScope } from "../../src/protocol/format-scope.ts";
import { operationPath, type Operation } from "../../src/protocol/operations.ts";
import { unlimitedScope } from "../../src/protocol/scope.ts";

const timeoutMs = 10_000;
const TokenResponse = z.object({ access_token: z.string() });
const ProtectAnswer = z.object({ secret: z.object({ key_version: z.int(), delete_at: z.union([z.string(), z.number()]) }) });
const UploadAnswer = z.object({
  files: z.array(z.object({ filename: z.string(), version: z.int(), size: z.int(), sha256: z.string() })),
});

export type UploadedFile = z.infer<typeof UploadAnswer>["files"][number];

/** What a person does in a vault: log in, protect secrets, upload files. The operator has a client of its own, which only reads. */
export class VaultAccount {
  readonly #url: string;
  readonly #email: string;
  readonly #token: Redacted<string>;

  private constructor(url: string, email: string, token: Redacted<string>) {
    this.#url = url;
    this.#email = email;
    this.#token = token;
  }

  static async logIn(url: string, email: string, password: Redacted<string>): Promise<VaultAccount> {
    const body = { email, password: password.reveal(), scope: formatScope(unlimitedScope), expiration_hours: 24 };
    const answer = await post(url, "generate_access_token", { "content-type": "application/json" }, JSON.stringify(body));
    return new VaultAccount(url, email, new Redacted(TokenResponse.parse(answer).access_token));
  }

  /** Makes a new version. `deleteAt`: when the vault removes the secret, in milliseconds since the epoch. */
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
    const { secret } = ProtectAnswer.parse(await post(this.#url, "protect", headers, JSON.stringify(body)));
    return { version: secret.key_version, deleteAt: new Date(secret.delete_at).getTime() };
  }

  async upload(
    files: readonly { readonly filename: string; readonly bytes: Uint8Array<ArrayBuffer> }[],
  ): Promise<UploadedFile[]> {
    const form = new FormData();
    for (const { filename, bytes } of files) form.append("file", new Blob([bytes]), filename);
    const headers = { authorization: this.#token.reveal(), email: this.#email, countoffiles: String(files.length) };
    return UploadAnswer.parse(await post(this.#url, "protect_file", headers, form)).files;
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
  // The body of an error is left unread: it may quote the request.
  if (!response.ok) throw new Error(`the vault answers ${operation} with ${response.status}`);
  return response.json();
}
