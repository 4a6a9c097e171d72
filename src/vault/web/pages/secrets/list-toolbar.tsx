import type { VNode } from "preact";
import { SearchField, SelectField } from "../../parts/field.tsx";
import {
  expiries,
  orders,
  type Expiry,
  type Kind,
  type ListView,
  type Order,
} from "./list-view.ts";

const kindLabels: readonly (readonly [Kind, string])[] = [
  ["all", "All"],
  ["own", "Mine"],
  ["received", "Shared with me"],
  ["given", "Shared by me"],
];

const orderLabels: Readonly<Record<Order, string>> = {
  name: "Sort by name",
  updated: "Sort by last update",
  expires: "Sort by expiry",
  owner: "Sort by owner",
};

const expiryLabels: Readonly<Record<Expiry, string>> = {
  "": "Any expiry",
  expired: "Expired",
  soon: "Expires in 14 days",
};

interface ListToolbarProps {
  readonly view: ListView;
  readonly environments: readonly string[];
  readonly onView: (view: ListView) => void;
}

/**
 * Search and filters. Each change returns to the first page. A filter without a choice is omitted.
 */
export function ListToolbar({ view, environments, onView }: ListToolbarProps): VNode {
  const change = (changes: Partial<ListView>): void => onView({ ...view, page: 0, ...changes });
  const { search, kind, environment, expiry } = view;
  return (
    <search class="toolbar">
      <SearchField
        label="Search secrets"
        placeholder="Names, owners, metadata"
        value={search}
        onSearch={(text) => change({ search: text })}
      />
      <fieldset class="segments">
        <legend class="visually-hidden">Filter secrets</legend>
        {kindLabels.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="kind"
              value={value}
              checked={kind === value}
              onChange={() => change({ kind: value })}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      {(environments.length > 1 || environment !== "") && (
        <SelectField
          label="Environment"
          value={environment}
          choices={["", ...environments]}
          labelOf={(choice) => choice || "All environments"}
          onChoice={(choice) => change({ environment: choice })}
        />
      )}
      <SelectField
        label="Expiry"
        value={expiry}
        choices={expiries}
        labelOf={(choice) => expiryLabels[choice]}
        onChoice={(choice) => change({ expiry: choice })}
      />
    </search>
  );
}

export function OrderField({ view, onView }: Pick<ListToolbarProps, "view" | "onView">): VNode {
  return (
    <SelectField
      label="Sort by"
      value={view.order}
      choices={orders}
      labelOf={(choice) => orderLabels[choice]}
      onChoice={(order) => onView({ ...view, page: 0, order, reversed: false })}
    />
  );
}
