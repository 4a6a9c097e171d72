import type { ComponentChildren, VNode } from "preact";

/** A column; its cells have the class `NAME-cell`. */
export interface Column {
  readonly name: string;
  readonly title: string;
  /** Shows the title to screen readers only. */
  readonly hidden?: true;
  /** Direction of the rows by this column, unless they have another order. */
  readonly sorted?: "ascending" | "descending" | undefined;
  /** Orders the rows by this column, or in the other direction. */
  readonly onSort?: () => void;
}

function Head({ column: { title, hidden, sorted, onSort } }: { readonly column: Column }): VNode {
  if (hidden) return <span class="visually-hidden">{title}</span>;
  if (!onSort) return <>{title}</>;
  return (
    <button class="sort" type="button" data-sorted={sorted} onClick={onSort}>
      {title}
    </button>
  );
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
            <th
              key={column.name}
              scope="col"
              class={`${column.name}-cell`}
              aria-sort={column.sorted}
            >
              <Head column={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}
