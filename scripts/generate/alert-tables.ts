import { alertsOf, parts } from "../../test/lab/monitoring/rules.ts";
import { plain, table } from "./markdown.ts";

/** Returns the index of the alerts of each program, as tables with links to their sections. */
export function alertTables(): Record<string, string> {
  return Object.fromEntries(
    parts.map((part) => [
      `${part}-alerts`,
      table(
        ["Alert", "Severity", "After", "Summary"],
        alertsOf(part).map(({ alert, labels, for: duration, annotations }) => [
          `[${alert}](#${alert.toLowerCase()})`,
          labels.severity,
          duration,
          plain(annotations.summary),
        ]),
      ),
    ]),
  );
}
