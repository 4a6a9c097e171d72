import type { EntryKind, EntryWrite, WriteGuard, WrittenVersion } from "../connection.ts";
import { readWritten } from "../readers/read-written.ts";
import type { VaultApi } from "../vault-api.ts";
import { PermanentError } from "../vault-error.ts";

type SecretWrite = EntryWrite & { readonly kind: "secret" };
type FileWrite = EntryWrite & { readonly kind: "file" };

/** Writes entries to the vault. Nothing is repeated here after a failure: the caller first finds out what is stored. */
export class VaultWrites {
  readonly #api: Pick<VaultApi, "write">;

  constructor(api: Pick<VaultApi, "write">) {
    this.#api = api;
  }

  write(entry: EntryWrite, signal: AbortSignal): Promise<WrittenVersion> {
    return entry.kind === "file" ? this.#upload(entry, signal) : this.#protect(entry, signal);
  }

  async remove(kind: EntryKind, name: string, guard: WriteGuard | undefined, signal: AbortSignal): Promise<void> {
    const body = kind === "file" ? { filename: name } : { key_name: name };
    await this.#api.write(kind === "file" ? "delete_file" : "delete", { body, size: 0, guard, signal });
  }

  async #upload({ name, bytes, guard }: FileWrite, signal: AbortSignal): Promise<WrittenVersion> {
    const upload = { filename: name, bytes };
    const size = bytes.reveal().byteLength;
    const response = await this.#api.write("protect_file", { body: { CountOfFiles: 1 }, upload, size, guard, signal });
    return { ...readWritten("protect_file", response), withMetadata: false };
  }

  /** Tries the other family once if the vault rejects the listed one: a share began or ended meanwhile, so nothing was stored. */
  async #protect(entry: SecretWrite, signal: AbortSignal): Promise<WrittenVersion> {
    try {
      return await this.#protectBy(entry, signal);
    } catch (error) {
      if (!(error instanceof PermanentError)) throw error;
      const isOther = error.code === (entry.shared ? "use_unshared_operation" : "use_link_operation");
      if (!isOther || entry.received) throw error;
      return this.#protectBy({ ...entry, shared: !entry.shared }, signal);
    }
  }

  async #protectBy(entry: SecretWrite, signal: AbortSignal): Promise<WrittenVersion> {
    const { name, value, owner, shared, metadata, deleteMinutes, guard } = entry;
    const operation = shared ? "protect_link" : "protect";
    const key_value = value.reveal();
    const family = shared
      ? { without_list: 1, ...(owner !== undefined && { owner }) }
      : { ...(metadata && { metadata }), ...(deleteMinutes !== undefined && { delete_time: deleteMinutes }) };
    const body = { key_name: name, key_value, ...family };
    const response = await this.#api.write(operation, { body, size: key_value.length, guard, signal });
    return { ...readWritten(operation, response), withMetadata: !shared };
  }
}
