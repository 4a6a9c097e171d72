import { randomFillSync } from "node:crypto";
import { open, rm, stat } from "node:fs/promises";

const CHUNK_BYTES = 1024 * 1024;

/**
 * A file that holds disk space. Its removal, when the disk is full, leaves space to write
 * deletions.
 */
export class ReserveFile {
  readonly #path: string;
  readonly #bytes: number;

  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
  }

  async exists(): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined);
    return found?.size === this.#bytes;
  }

  /**
   * Writes random bytes: no file system stores them as a hole or compressed. Nothing is left after
   * an error.
   */
  async create(): Promise<void> {
    try {
      await using handle = await open(this.#path, "w", 0o600);
      for (let left = this.#bytes; left > 0; left -= CHUNK_BYTES) {
        await handle.writeFile(randomFillSync(Buffer.alloc(Math.min(left, CHUNK_BYTES))));
      }
      await handle.sync();
    } catch (error) {
      await this.remove();
      throw error;
    }
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true });
  }
}
