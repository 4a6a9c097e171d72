import type { ComponentChildren, VNode } from "preact";

/** A column; its cells have the class `NAME-cell`. */
export interface Column {
  readonly name: string;
  readonly title: string;
  /** Shows the title to screen readers only. */
  readonly hidden?: true;
}

interface DataTableProps {
  /** Class of the table. */
  readonly name: string;
  /** Names the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** The rows. */
  readonly children: ComponentChildren;
}

/** A table of a list. The widths of its columns do not depend on the rows. */
export function DataTable({ name, caption, columns, children }: DataTableProps): VNode {
  return (
    <table class={`table ${name}`}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" class={`${column.name}-cell`}>
              {column.hidden ? <span class="visually-hidden">{column.title}</span> : column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
