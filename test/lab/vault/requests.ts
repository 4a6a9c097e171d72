import type { VaultClient, VaultResponse } from "./vault-client.ts";
import { createHash } from "node:crypto";

/** Metadata of a secret that was protected without any. */
export const defaultMetadata = {
  application_type: "container",
  classification: "top",
  cloud_type: "aws",
  description: "n/a",
  environment_type: "dev",
  expiration_time: 10,
};

/** Protects a secret and returns its record. */
// oxlint-disable-next-line typescript/no-explicit-any -- assertions inspect it
export async function protectSecret(client: VaultClient, body: object): Promise<any> {
  return (await client.call("protect", body)).json().secret;
}

/** Returns the latest value of an unshared secret. */
export async function readValue(client: VaultClient, name: string): Promise<string> {
  return (await client.call("expose", { key_name: name })).json().key_value;
}

/** Returns the names in the client's list of secrets. */
export async function listNames(client: VaultClient): Promise<string[]> {
  return (await client.call("list_no_dup"))
    .json()
    .secrets.map((secret: { key_name: string }) => secret.key_name);
}

/** Requests that read an unshared secret, with what their body has next to its name. */
export const unsharedReads = [
  ["expose", {}],
  ["version_expose", { key_version: 1 }],
  ["version_list", {}],
] as const;

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

export function download(
  caller: VaultClient,
  filename: string,
  more: object = {},
  headers = {},
): Promise<VaultResponse> {
  return caller.call("download_file", { filename, ...more }, headers);
}

/** Returns the names in the client's list of files. */
export async function listFilenames(caller: VaultClient): Promise<string[]> {
  return (await caller.call("list_file"))
    .json()
    .files.map((file: { filename: string }) => file.filename);
}

/**
 * Returns an upload body whose only part has this `Content-Disposition` and further header lines.
 */
export function rawPart(
  disposition: string,
  headers = "",
  encoding: BufferEncoding = "utf8",
): Buffer {
  return Buffer.from(
    `--test-boundary\r\nContent-Disposition: ${disposition}\r\n${headers}\r\ncontent\r\n--test-boundary--\r\n`,
    encoding,
  );
}

/** Returns a function that returns another name each time: `secret-1`, `secret-2`. */
export function nameSequence(prefix: string, suffix = ""): () => string {
  let count = 0;
  return () => `${prefix}-${(count += 1)}${suffix}`;
}
