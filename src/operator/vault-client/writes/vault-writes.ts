import { readTimestamp } from "../../../protocol/read-timestamp.ts";
import { createHash } from "node:crypto";
import { Redacted } from "../../../lib/redacted.ts";
import type {
  EntryAddress,
  EntryKind,
  EntryWrite,
  LatestVersion,
  WriteGuard,
  WrittenVersion,
} from "../connection.ts";
import { parseJson } from "../http/parse-json.ts";
import { readCount, field } from "../readers/field.ts";
import { readExposed } from "../readers/read-value.ts";
import type { ValueReader, VaultApi } from "../vault-api.ts";
import {
  PermanentError,
  type PermanentCode,
  TransientError,
  UnexpectedResponse,
} from "../vault-error.ts";
import { isObject, type JsonObject } from "../../../lib/is-object.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";

/**
 * Returns the record of the written version: the root, a member of it, or the first element of a
 * list in it.
 */
function recordIn(response: unknown): JsonObject | undefined {
  if (!isObject(response)) return undefined;
  const below = field(response, "secret", "files", "file");
  const first: unknown = Array.isArray(below) ? below[0] : below;
  return isObject(first) ? first : response;
}

/**
 * Returns the version that a write created. @throws UnexpectedResponse when the response names none
 */
function readWritten(
  operation: Operation,
  response: unknown,
): Omit<WrittenVersion, "withMetadata"> {
  const record = recordIn(response);
  const version = record && readCount(field(record, "key_version", "version", "file_version"));
  if (record === undefined || version === undefined)
    throw new UnexpectedResponse(operation, "version");
  return {
    version,
    createdAt: readTimestamp(record.created_at),
    deleteAt: readTimestamp(record.delete_at),
  };
}

type SecretWrite = EntryWrite & { readonly kind: "secret" };
type FileWrite = EntryWrite & { readonly kind: "file" };

/** Errors that mean that there is no version whose bytes can be read. */
const UNREADABLE: ReadonlySet<PermanentCode> = new Set([
  "secret_not_found",
  "file_not_found",
  "secret_expired",
  "too_large",
]);

/** An entity tag that is the digest of a file. */
const SHA256_TAG = /^"?([0-9a-f]{64})"?$/;

/**
 * Writes entries to the vault. Nothing is repeated here after a failure: the caller first finds out
 * what is stored.
 */
export class VaultWrites {
  readonly #api: Pick<VaultApi, "write" | "latest">;

  constructor(api: Pick<VaultApi, "write" | "latest">) {
    this.#api = api;
  }

  async latest(entry: EntryAddress, signal: AbortSignal): Promise<LatestVersion | undefined> {
    try {
      return entry.kind === "file"
        ? await this.#download(entry.name, { consumer: entry.consumer, signal })
        : await this.#expose(entry, signal);
    } catch (error) {
      if (error instanceof PermanentError && UNREADABLE.has(error.code)) return undefined;
      throw error;
    }
  }

  write(entry: EntryWrite, signal: AbortSignal): Promise<WrittenVersion> {
    return entry.kind === "file" ? this.#upload(entry, signal) : this.#protect(entry, signal);
  }

  async remove(
    kind: EntryKind,
    name: string,
    guard: WriteGuard | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const body = kind === "file" ? { filename: name } : { key_name: name };
    const operation = kind === "file" ? "delete_file" : "delete";
    const response = await this.#api.write(operation, { body, size: 0, guard, signal });
    // The page of a proxy does not delete anything.
    if (!isObject(response) || field(response, "deleted") === undefined)
      throw new UnexpectedResponse(operation, "deleted");
  }

  async #download(filename: string, reader: ValueReader): Promise<LatestVersion> {
    const operation = "download_file";
    const response = await this.#api.latest(operation, { filename }, reader);
    const version = readCount(response.header("x-file-version"));
    // A file may have any bytes, so the page of a proxy can only be recognized by its headers.
    const isFile = response.header("content-type")?.startsWith("application/octet-stream") === true;
    if (version === undefined && !isFile) throw new UnexpectedResponse(operation, "content-type");
    const [, digest] = SHA256_TAG.exec(response.header("etag") ?? "") ?? [];
    if (
      digest !== undefined &&
      digest !== createHash("sha256").update(response.body).digest("hex")
    ) {
      throw new TransientError(operation, "digest_mismatch");
    }
    return { bytes: new Redacted(response.body), version };
  }

  #expose(entry: EntryAddress, signal: AbortSignal): Promise<LatestVersion> {
    const { consumer } = entry;
    return byFamily(entry, async (shared) => {
      const operation = shared ? "expose_link" : "expose";
      const body = {
        key_name: entry.name,
        ...(shared && entry.owner !== undefined && { owner: entry.owner }),
      };
      return readExposed(
        operation,
        parseJson((await this.#api.latest(operation, body, { consumer, signal })).body),
        entry,
      );
    });
  }

  async #upload({ name, bytes, guard }: FileWrite, signal: AbortSignal): Promise<WrittenVersion> {
    const upload = { filename: name, bytes };
    const size = bytes.reveal().byteLength;
    const response = await this.#api.write("protect_file", {
      body: { CountOfFiles: 1 },
      upload,
      size,
      guard,
      signal,
    });
    return { ...readWritten("protect_file", response), withMetadata: false };
  }

  #protect(entry: SecretWrite, signal: AbortSignal): Promise<WrittenVersion> {
    const { name, value, owner, metadata, deleteMinutes, guard } = entry;
    return byFamily(entry, async (shared) => {
      const operation = shared ? "protect_link" : "protect";
      const key_value = value.reveal();
      const family = shared
        ? { without_list: 1, ...(owner !== undefined && { owner }) }
        : {
            ...(metadata && { metadata }),
            ...(deleteMinutes !== undefined && { delete_time: deleteMinutes }),
          };
      const body = { key_name: name, key_value, ...family };
      const response = await this.#api.write(operation, {
        body,
        size: key_value.length,
        guard,
        signal,
      });
      return { ...readWritten(operation, response), withMetadata: !shared };
    });
  }
}

/**
 * Tries the other family of operations once if the vault rejects the listed one: a share began or
 * ended after the list, and nothing was stored. A received secret is never replaced by one of the
 * account.
 */
async function byFamily<T>(
  { shared, received }: Pick<EntryAddress, "shared" | "received">,
  send: (shared: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await send(shared);
  } catch (error) {
    const isOther =
      error instanceof PermanentError &&
      error.code === (shared ? "use_unshared_operation" : "use_link_operation");
    if (!isOther || received) throw error;
    return send(!shared);
  }
}
