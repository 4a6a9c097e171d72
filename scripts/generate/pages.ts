import { commandLine } from "./command-line.ts";
import { clientErrorTables, vaultErrorTable } from "./error-tables.ts";
import { metricsTables } from "./metrics-tables.ts";
import { resourceFields } from "./resource-fields.ts";
import { vaultApi } from "./vault-api.ts";
import { alertsOf, parts } from "../../test/lab/monitoring/rules.ts";
import { plain, table, code } from "./markdown.ts";
import { operatorCommand } from "../../src/operator/cli/operator.ts";
import { programTable } from "./option-cells.ts";
import { reasons } from "../../src/operator/api/reasons.ts";

/** Returns every reason of a condition with its remedy, as a table. */
function reasonsTable(): string {
  return table(
    ["Reason", "Requires action", "Remedy"],
    Object.entries(reasons).map(([reason, { remedy, stalled }]) => [
      code(reason),
      stalled ? "yes" : "",
      plain(remedy),
    ]),
  );
}

/** Returns the index of the alerts of each program, as tables with links to their sections. */
function alertTables(): Record<string, string> {
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

/**
 * Returns the generated sections of the hand-written pages, by path and by the name in the
 * section's marker.
 */
export function pageSections(): Map<string, Readonly<Record<string, string>>> {
  return new Map([
    ["docs/command-line.md", commandLine()],
    ["docs/monitoring.md", { ...metricsTables(), ...alertTables() }],
    ["docs/operator.md", { flags: programTable("VAULTSYNC", operatorCommand().options) }],
    ["docs/resources.md", resourceFields()],
    ["docs/status.md", { reasons: reasonsTable(), ...clientErrorTables() }],
    ["docs/vault-api.md", { "vault-codes": vaultErrorTable(), ...vaultApi() }],
  ]);
}
