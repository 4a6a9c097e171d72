import type { Permission } from "../../../../protocol/responses.ts";
import type { Row } from "./row.ts";

/**
 * Returns a permission as the columns `reads` and `writes`: the union of grants is the maximum of
 * each column.
 */
export function permissionColumns(permission: Permission): [reads: number, writes: number] {
  return [permission === "W" ? 0 : 1, permission === "R" ? 0 : 1];
}

export function permissionOf(row: Row): Permission {
  if (row.number("writes") === 0) return "R";
  return row.number("reads") === 0 ? "W" : "RW";
}
