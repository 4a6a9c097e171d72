import type { VNode } from "preact";
import { formats } from "../text/formats.ts";

interface PagerProps {
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}

/** Returns the page that a list shows: the wanted one, or the last one of a shorter list. */
export const shownPage = (wanted: number, total: number, pageSize: number): number =>
  Math.min(wanted, lastPage(total, pageSize));

const lastPage = (total: number, pageSize: number): number =>
  Math.max(0, Math.ceil(total / pageSize) - 1);

/** Shows the visible range of a long list, and buttons for the other pages when there are any. */
export function Pager({ page, pageSize, total, onPage }: PagerProps): VNode {
  const last = lastPage(total, pageSize);
  const from = page * pageSize + 1;
  const to = Math.min(total, from + pageSize - 1);
  const [first, end, all] = [from, to, total].map((figure) => formats.number().format(figure));
  const span = total === 0 ? "None" : `${first} to ${end} of ${all}`;
  return (
    <nav class="pager" aria-label="Pages">
      <p role="status">{span}</p>
      {last > 0 && (
        <div class="pager-buttons">
          <button
            class="button"
            type="button"
            aria-disabled={page === 0}
            onClick={() => onPage(Math.max(0, page - 1))}
          >
            Previous
          </button>
          <button
            class="button"
            type="button"
            aria-disabled={page === last}
            onClick={() => onPage(Math.min(last, page + 1))}
          >
            Next
          </button>
        </div>
      )}
    </nav>
  );
}
