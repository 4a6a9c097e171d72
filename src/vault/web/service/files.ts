import type { FileRecord, TrashedRecord } from "../../../protocol/responses.ts";
import { CSRF_HEADER, utf8Header } from "../../../protocol/headers.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { isDeletion, isFileRecord } from "./responses.ts";
import { send, type Transfer } from "./send.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";

const fileList = shape<{ files: readonly FileRecord[] }>({ files: listOf(isFileRecord) });

export async function listFiles(client: VaultClient): Promise<readonly FileRecord[]> {
  return (await client.list("list_file", fileList)).files;
}

/**
 * Fetches the bytes of one version. The browser keeps a large blob on disk.
 * @throws RequestError; the signal's reason after an abort
 */
export async function downloadFile(
  client: VaultClient,
  filename: string,
  version: number,
  transfer: Transfer,
): Promise<Blob> {
  const body = { email: client.email, filename, version };
  return (await client.open(operationPath.download_file, body, transfer)).blob();
}

/** One version of a file, or all versions. */
export interface FileDeletion {
  readonly filename: string;
  readonly version?: number;
  /** Latest version of the file that the user has seen. */
  readonly expected_version: number;
}

/**
 * Deletes what the user has seen. Returns the entry of a deleted file in the trash. @throws
 * RequestError `version_changed`, also when another file has the name by now; nothing is deleted then
 */
export async function deleteFile(
  client: VaultClient,
  deletion: FileDeletion & { readonly permanently: boolean },
): Promise<readonly TrashedRecord[]> {
  return (await client.call("delete_file", deletion, isDeletion)).trash ?? [];
}

let uploading = 0;

/** Reports whether a file is being sent: the end of the session would cancel it. */
export function isUploading(): boolean {
  return uploading > 0;
}

/**
 * Uploads one file as a new version.
 * @throws RequestError; the signal's reason after an abort
 */
export async function uploadFile(
  client: VaultClient,
  file: File,
  transfer: Transfer,
): Promise<void> {
  uploading++;
  try {
    await client.guarded(() => sendFile(client, file, transfer));
  } finally {
    uploading--;
  }
}

async function sendFile(client: VaultClient, file: File, upload: Transfer): Promise<void> {
  const email = utf8Header(client.email);
  const headers = { email, countoffiles: "1", [CSRF_HEADER]: client.csrfToken };
  const body = new FormData();
  body.append("file", file);
  await send(operationPath.protect_file, { headers, body, upload });
}
