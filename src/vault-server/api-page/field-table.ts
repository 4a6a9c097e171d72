import { html, type Html } from "./html.ts";
import { schemaWords, type Field } from "./schema-words.ts";

function row({ name, required, schema }: Field): Html {
  return html`<tr>
    <th scope="row"><code>${name}</code>${required ? undefined : html` <small>optional</small>`}</th>
    <td>${schemaWords(schema)}</td>
    <td>${schema.description ?? ""}</td>
  </tr> `;
}

/** A table that scrolls on its own where it is wider than the page. */
export function scrollingTable(label: string, heads: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="table" role="region" aria-label="${label}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div> `;
}

/** Fields with what they hold. */
export function fieldTable(label: string, fields: readonly Field[]): Html {
  return scrollingTable(label, ["Field", "Holds", "Notes"], fields.map(row));
}
