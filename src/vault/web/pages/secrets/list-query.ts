import { pageOf, queryOf } from "../../text/query-text.ts";
import { firstView, kinds, orders, type ListView } from "./list-view.ts";

/** Parses the view in the address of the list. Unknown values count as absent. */
export function parseView(query: string): ListView {
  const given = new URLSearchParams(query);
  return {
    search: given.get("search") ?? "",
    kind: kinds.find((kind) => kind === given.get("kind")) ?? firstView.kind,
    environment: given.get("environment") ?? "",
    folder: given.get("folder") ?? "",
    order: orders.find((order) => order === given.get("order")) ?? firstView.order,
    page: pageOf(given),
  };
}

/** Formats a view for the address, without what equals the first view. */
export function viewQuery({ search, kind, environment, folder, order, page }: ListView): string {
  return queryOf({
    search,
    kind: kind === firstView.kind ? "" : kind,
    environment,
    folder,
    order: order === firstView.order ? "" : order,
    page: page === 0 ? "" : String(page + 1),
  });
}
