import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { DataTable, type Column } from "../../parts/data-table.tsx";
import { SecretRow } from "./secret-row.tsx";
import { secretId, type Selection } from "./use-selection.ts";

const columns: readonly Column[] = [
  { name: "select", title: "Selection", hidden: true },
  { name: "name", title: "Name" },
  { name: "description", title: "Description" },
  { name: "access", title: "Access" },
  { name: "chips", title: "Metadata" },
  { name: "updated", title: "Updated" },
  { name: "deadline", title: "Expires" },
  { name: "actions", title: "Value", hidden: true },
];

interface SecretsTableProps {
  readonly secrets: readonly SecretRecord[];
  readonly selection: Selection;
}

/** A page of the list. */
export function SecretsTable({ secrets, selection }: SecretsTableProps): VNode {
  return (
    <DataTable name="secrets-table" caption="Secrets you can access" columns={columns}>
      {secrets.map((secret) => (
        <SecretRow
          key={secretId(secret)}
          secret={secret}
          selected={selection.has(secret)}
          onSelect={(selected) => selection.set([secret], selected)}
        />
      ))}
    </DataTable>
  );
}
