import type { VNode } from "preact";

interface SelectFieldProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly choices: readonly T[];
  readonly labelOf: (choice: T) => string;
  readonly onChoice: (choice: T) => void;
}

/**
 * Filters or sorts a list. Its label is only for screen readers, so the choices say what they are.
 * A value that is no choice, such as one of an old link, is shown as one.
 */
export function SelectField<T extends string>({
  label,
  value,
  choices,
  labelOf,
  onChoice,
}: SelectFieldProps<T>): VNode {
  const shown = choices.includes(value) ? choices : [...choices, value];
  return (
    <label class="select-field">
      <span class="visually-hidden">{label}</span>
      <select
        value={value}
        onChange={(event) => onChoice(shown[event.currentTarget.selectedIndex] ?? value)}
      >
        {shown.map((choice) => (
          <option key={choice} value={choice}>
            {labelOf(choice)}
          </option>
        ))}
      </select>
    </label>
  );
}
