import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import type { Kind, ListView, Order } from "./list-view.ts";

const kinds: readonly (readonly [Kind, string])[] = [
  ["all", "All"],
  ["own", "Mine"],
  ["received", "Shared with me"],
  ["given", "Shared by me"],
];

const orders: readonly (readonly [Order, string])[] = [
  ["name", "Name"],
  ["updated", "Last updated"],
  ["expires", "Expires next"],
  ["owner", "Owner"],
];

interface ListToolbarProps {
  readonly view: ListView;
  readonly onView: (view: ListView) => void;
}

/** Search, filter and order. Each change returns to the first page. */
export function ListToolbar({ view, onView }: ListToolbarProps): VNode {
  const change = (changes: Partial<ListView>): void => onView({ ...view, page: 0, ...changes });
  return (
    <search class="toolbar">
      <label class="search">
        <span class="visually-hidden">Search secrets</span>
        <Icon name="search" />
        <input
          type="search"
          placeholder="Search names, owners, metadata"
          value={view.search}
          onInput={(event) => change({ search: event.currentTarget.value })}
        />
      </label>
      <fieldset class="segments">
        <legend class="visually-hidden">Filter secrets</legend>
        {kinds.map(([kind, label]) => (
          <label key={kind}>
            <input type="radio" name="kind" value={kind} checked={view.kind === kind} onChange={() => change({ kind })} />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <label class="order">
        <span>Sort by</span>
        <select
          value={view.order}
          onChange={(event) => change({ order: orders[event.currentTarget.selectedIndex]?.[0] ?? "name" })}
        >
          {orders.map(([order, label]) => (
            <option key={order} value={order}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </search>
  );
}
