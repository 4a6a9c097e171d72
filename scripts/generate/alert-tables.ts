import { alertsOf, parts } from "../../test/lab/monitoring/rules.ts";
import { table } from "./markdown.ts";

/** Returns the index of the alerts of each program, as tables with links to their sections. */
export function alertTables(): Record<string, string> {
  return Object.fromEntries(
    parts.map((part) => [
      `${part}-alerts`,
      table(
        ["Alert", "Severity", "After"],
        alertsOf(part).map(({ alert, labels, for: duration }) => [
          `[${alert}](#${alert.toLowerCase()})`,
          labels.severity,
          duration,
        ]),
      ),
    ]),
  );
}
