import { createHash } from "node:crypto";
import type { VaultClient } from "./vault-client.ts";

/** Downloads a file and checks its digest. @throws Error */
export async function downloadFile(
  client: VaultClient,
  filename: string,
  version: number | undefined,
): Promise<Uint8Array> {
  const { bytes, etag } = await client.download(filename, version);
  const [, digest] = /^"([0-9a-f]{64})"$/u.exec(String(etag)) ?? [];
  if (digest !== undefined && digest !== createHash("sha256").update(bytes).digest("hex"))
    throw new Error("the download is damaged: try again");
  return bytes;
}
