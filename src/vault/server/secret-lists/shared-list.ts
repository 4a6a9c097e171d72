import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { ListPlace } from "../protection/open-lists.ts";
import type { ListEnd, OpenedList } from "./list-secrets.ts";

const compress = promisify(gzip);

/** A whole list in memory that any number of responses share. */
export class SharedList {
  readonly kind = "shared";
  readonly revision: string;
  readonly now: number;
  readonly end: ListEnd;
  /** JSON text. */
  readonly pieces: readonly Buffer[];
  readonly length: number;
  readonly #place: ListPlace;
  readonly #released: () => void;
  #compressed: Promise<Buffer | undefined> | undefined;
  #holders = 0;

  constructor(
    { revision, now }: OpenedList,
    end: ListEnd,
    pieces: readonly Buffer[],
    place: ListPlace,
    released: () => void,
  ) {
    this.revision = revision;
    this.now = now;
    this.end = end;
    this.pieces = pieces;
    this.length = lengthOf(pieces);
    this.#place = place;
    this.#released = released;
    place.resize(this.length);
  }

  /** Keeps the list, and its place, until disposed. */
  hold(): Disposable {
    this.#holders += 1;
    return {
      [Symbol.dispose]: () => {
        this.#holders -= 1;
        if (this.#holders > 0) return;
        this.#place[Symbol.dispose]();
        this.#released();
      },
    };
  }

  /**
   * Resolves with the text as gzip compresses it, once for all responses, or with `undefined` when
   * there is no memory for it.
   */
  compressed(): Promise<Buffer | undefined> {
    this.#compressed ??= this.#compress();
    return this.#compressed;
  }

  async #compress(): Promise<Buffer | undefined> {
    const compressed = await compress(Buffer.concat(this.pieces));
    return this.#place.resize(this.length + compressed.length) ? compressed : undefined;
  }
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
