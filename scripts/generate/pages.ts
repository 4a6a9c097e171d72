import { errorTables } from "./error-tables.ts";
import { metricsTables } from "./metrics-tables.ts";
import { operatorFlags } from "./operator-flags.ts";
import { resourceFields } from "./resource-fields.ts";
import { vaultApi } from "./vault-api.ts";

/**
 * Returns the generated sections of the hand-written pages, by path and by the name in the
 * section's marker.
 */
export function pageSections(): Map<string, Readonly<Record<string, string>>> {
  return new Map([
    ["docs/operator.md", { flags: operatorFlags() }],
    ["docs/resources.md", resourceFields()],
    ["docs/metrics.md", metricsTables()],
    ["docs/vault-api.md", vaultApi()],
    ["docs/errors.md", errorTables()],
  ]);
}
