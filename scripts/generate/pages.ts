import { alertTables } from "./alert-tables.ts";
import { commandLine } from "./command-line.ts";
import { clientErrorTables, vaultErrorTable } from "./error-tables.ts";
import { metricsTables } from "./metrics-tables.ts";
import { operatorFlags } from "./operator-flags.ts";
import { reasonsTable } from "./reasons-table.ts";
import { resourceFields } from "./resource-fields.ts";
import { vaultApi } from "./vault-api.ts";

/**
 * Returns the generated sections of the hand-written pages, by path and by the name in the
 * section's marker.
 */
export function pageSections(): Map<string, Readonly<Record<string, string>>> {
  return new Map([
    ["docs/command-line.md", commandLine()],
    ["docs/monitoring.md", { ...metricsTables(), ...alertTables() }],
    ["docs/operator.md", { flags: operatorFlags() }],
    ["docs/resources.md", resourceFields()],
    ["docs/status.md", { reasons: reasonsTable(), ...clientErrorTables() }],
    ["docs/vault-api.md", { "vault-codes": vaultErrorTable(), ...vaultApi() }],
  ]);
}
