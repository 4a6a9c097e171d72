/** Length of the metadata of one page. Bounds the time that the page occupies the event loop. */
const PAGE_LENGTH = 256 * 1024;
/** Number of entries of the first page, and maximum growth from one page to the next. */
const FIRST = 8;
const GROWTH = 4;

/**
 * Number of entries in each page of a list, from the lengths in the pages before: the metadata of
 * an entry has up to 64 KiB.
 */
export class PageSize {
  readonly #max: number;
  #next = FIRST;

  constructor(max: number) {
    this.#max = max;
  }

  get next(): number {
    return this.#next;
  }

  /** Adapts the size to the lengths of the metadata of a page. */
  seen(page: readonly number[]): void {
    const length = page.reduce((sum, each) => sum + each, 0);
    const fitting = Math.floor((PAGE_LENGTH * page.length) / Math.max(1, length));
    this.#next = Math.max(1, Math.min(fitting, this.#next * GROWTH, this.#max));
  }
}
