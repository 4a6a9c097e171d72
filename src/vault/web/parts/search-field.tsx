import type { VNode } from "preact";
import { Icon } from "./icon.tsx";

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** Called with each keystroke. */
  readonly onSearch: (text: string) => void;
}

/** Searches a list. */
export function SearchField({ label, placeholder, value, onSearch }: SearchFieldProps): VNode {
  return (
    <label class="search">
      <span class="visually-hidden">{label}</span>
      <Icon name="search" />
      <input
        type="search"
        placeholder={placeholder}
        value={value}
        autocomplete="off"
        onInput={(event) => onSearch(event.currentTarget.value)}
      />
    </label>
  );
}
