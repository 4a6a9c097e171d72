import type { FileRecord } from "../../../../protocol/responses.ts";
import { pageOf, queryOf, folded, searchFor } from "../../text/search.ts";
import { millisecondsOf } from "../../text/formats.ts";

export const fileOrders = ["name", "uploaded", "size"] as const;
export type FileOrder = (typeof fileOrders)[number];

/** Search, order and page of the list of files. `page` starts at 0. */
export interface FileView {
  readonly search: string;
  readonly order: FileOrder;
  readonly page: number;
}

/** Parses the view in the address of the list. Unknown values count as absent. */
export function parseFileView(query: string): FileView {
  const given = new URLSearchParams(query);
  return {
    search: given.get("search") ?? "",
    order: fileOrders.find((order) => order === given.get("order")) ?? "name",
    page: pageOf(given),
  };
}

/** Formats a view for the address, without what equals the first view. */
export function fileViewQuery({ search, order, page }: FileView): string {
  return queryOf({
    search,
    order: order === "name" ? "" : order,
    page: page === 0 ? "" : String(page + 1),
  });
}

const comparisons: Readonly<Record<FileOrder, (left: FileRecord, right: FileRecord) => number>> = {
  name: (left, right) => (left.filename < right.filename ? -1 : 1),
  uploaded: (left, right) => millisecondsOf(right.created_at) - millisecondsOf(left.created_at),
  size: (left, right) => right.size - left.size,
};

/**
 * Returns the files whose names contain every search word, in order: by name, the newest first, or
 * the largest first.
 */
export function selectFiles(
  files: readonly FileRecord[],
  { search, order }: FileView,
): FileRecord[] {
  const isFound = searchFor(search);
  return files.filter(({ filename }) => isFound([folded(filename)])).sort(comparisons[order]);
}
