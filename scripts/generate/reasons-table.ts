import { reasons } from "../../src/operator/api/reasons.ts";
import { code, plain, table } from "./markdown.ts";

/** Returns every reason of a condition with its remedy, as a table. */
export function reasonsTable(): string {
  return table(
    ["Reason", "Requires action", "Remedy"],
    Object.entries(reasons).map(([reason, { remedy, stalled }]) => [
      code(reason),
      stalled ? "yes" : "",
      plain(remedy),
    ]),
  );
}
