import type { FileRecord, TrashedRecord } from "../../../protocol/responses.ts";
import { CSRF_HEADER } from "../../../protocol/headers.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { isDeletion, isFileRecord } from "./responses.ts";
import { browserClock } from "./browser-clock.ts";
import { errorFromBody, timedOut, unreachable } from "./request-error.ts";
import { SILENCE_MS } from "./response-deadline.ts";
import { listOf, shape } from "./shape.ts";
import type { VaultClient } from "./vault-client.ts";

const fileList = shape<{ files: readonly FileRecord[] }>({ files: listOf(isFileRecord) });

export async function listFiles(client: VaultClient): Promise<readonly FileRecord[]> {
  return (await client.list("list_file", fileList)).files;
}

/** Fetches the bytes of one version. The browser keeps a large blob on disk. */
export async function downloadFile(
  client: VaultClient,
  filename: string,
  version: number,
): Promise<Blob> {
  return (
    await client.open(operationPath.download_file, { email: client.email, filename, version })
  ).blob();
}

/** Deletes one version, or all versions. Returns the entry of a deleted file in the trash. */
export async function deleteFile(
  client: VaultClient,
  deletion: { readonly filename: string; readonly version?: number; readonly permanently: boolean },
): Promise<readonly TrashedRecord[]> {
  return (await client.call("delete_file", deletion, isDeletion)).trash ?? [];
}

let uploading = 0;

/** Reports whether a file is being sent: the end of the session would cancel it. */
export function isUploading(): boolean {
  return uploading > 0;
}

/**
 * Uploads one file as a new version. `onProgress` receives the fraction sent, from 0 to 1; fetch
 * does not report it, XMLHttpRequest does.
 * @throws RequestError, `timed_out` when nothing happens for 30 seconds; the signal's reason after
 * an abort
 */
export async function uploadFile(
  client: VaultClient,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<void> {
  uploading++;
  try {
    await client.guarded(() => sendFile(client, file, onProgress, signal));
  } finally {
    uploading--;
  }
}

function sendFile(
  client: VaultClient,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const silent = (): void => {
      reject(timedOut());
      request.abort();
    };
    let cancel = browserClock.after(SILENCE_MS, silent);
    request.open("POST", operationPath.protect_file);
    request.setRequestHeader("email", client.email);
    request.setRequestHeader("countoffiles", "1");
    request.setRequestHeader(CSRF_HEADER, client.csrfToken);
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      cancel();
      cancel = browserClock.after(SILENCE_MS, silent);
      onProgress(total > 0 ? loaded / total : 0);
    });
    request.addEventListener("load", () =>
      request.status === 200
        ? resolve()
        : reject(errorFromBody(request.status, request.responseText)),
    );
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("abort", () => reject(signal.reason));
    request.addEventListener("loadend", () => cancel());
    signal.addEventListener("abort", () => request.abort(), { once: true });
    const form = new FormData();
    form.append("file", file);
    request.send(form);
  });
}
