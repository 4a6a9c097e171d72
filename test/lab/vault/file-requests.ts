import { createHash } from "node:crypto";
import type { VaultClient, VaultResponse } from "./vault-client.ts";

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
