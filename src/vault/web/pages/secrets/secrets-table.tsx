import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { SecretRow } from "./secret-row.tsx";
import { secretId, type Selection } from "./use-selection.ts";

interface SecretsTableProps {
  readonly secrets: readonly SecretRecord[];
  readonly selection: Selection;
}

/** A page of the list. The widths of its columns do not depend on the rows. */
export function SecretsTable({ secrets, selection }: SecretsTableProps): VNode {
  return (
    <table class="table secrets-table">
      <caption class="visually-hidden">Secrets you can access</caption>
      <thead>
        <tr>
          <th scope="col" class="select-cell">
            <span class="visually-hidden">Selection</span>
          </th>
          <th scope="col" class="name-cell">
            Name
          </th>
          <th scope="col" class="description-cell">
            Description
          </th>
          <th scope="col" class="access-cell">
            Access
          </th>
          <th scope="col" class="chips-cell">
            Metadata
          </th>
          <th scope="col" class="updated-cell">
            Updated
          </th>
          <th scope="col" class="deadline-cell">
            Expires
          </th>
          <th scope="col" class="actions-cell">
            <span class="visually-hidden">Value</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {secrets.map((secret) => (
          <SecretRow
            key={secretId(secret)}
            secret={secret}
            selected={selection.has(secret)}
            onSelect={(selected) => selection.set([secret], selected)}
          />
        ))}
      </tbody>
    </table>
  );
}
