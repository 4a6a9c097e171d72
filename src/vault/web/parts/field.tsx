import {
  h,
  type ComponentChildren,
  type RefObject,
  type TargetedInputEvent,
  type VNode,
} from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { RequestError } from "../service/request-error.ts";
import { Icon } from "./icon.tsx";

interface FieldProps {
  readonly label: string;
  /** Name of the field in the form and in the vault's validation errors. */
  readonly name: string;
  readonly hint?: ComponentChildren;
  readonly failure?: RequestError | undefined;
}

interface ControlAttributes {
  readonly id: string;
  readonly name: string;
  readonly "aria-describedby"?: string;
  readonly "aria-invalid"?: "true";
}

/** A control with its label, hint and validation error, linked for screen readers. */
export function Field({
  label,
  name,
  hint,
  failure,
  control,
}: FieldProps & { readonly control: (attributes: ControlAttributes) => ComponentChildren }): VNode {
  const id = useId();
  const reason = failure?.reason(name);
  const hintId = hint === undefined ? [] : [`${id}-hint`];
  const reasonId = reason === undefined ? [] : [`${id}-reason`];
  const describedBy = [...hintId, ...reasonId].join(" ");
  const attributes: ControlAttributes = {
    id,
    name,
    ...(describedBy !== "" && { "aria-describedby": describedBy }),
    ...(reason !== undefined && { "aria-invalid": "true" }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {control(attributes)}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {reason !== undefined && (
        <p class="reason" id={`${id}-reason`}>
          {reason}
        </p>
      )}
    </div>
  );
}

/** The attributes of `<input>` that the forms use. */
interface InputProps {
  readonly type?: "text" | "email" | "password" | "number" | "datetime-local";
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly autocapitalize?: "off";
  readonly autofocus?: boolean;
  readonly spellcheck?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: string;
  readonly max?: string;
  readonly step?: string;
  /** Id of a `<datalist>`. */
  readonly list?: string;
  /** Takes the focus when the form appears, instead of the title of the page. */
  readonly initialFocus?: boolean;
  readonly onInput?: (text: string) => void;
}

interface TextFieldProps extends FieldProps, InputProps {
  /** A button at the end of the input. */
  readonly button?: VNode;
}

/** Returns the ref of a control that takes the focus when it appears, if it is wanted. */
function useInitialFocus<T extends HTMLElement>(wanted: boolean): RefObject<T | null> {
  const ref = useRef<T>(null);
  // Before the first paint: who sees the field may type.
  useLayoutEffect(() => {
    if (wanted) ref.current?.focus();
  }, [wanted]);
  return ref;
}

/** A single-line input. */
export function TextField({
  label,
  name,
  hint,
  failure,
  type = "text",
  onInput,
  button,
  initialFocus = false,
  ...input
}: TextFieldProps): VNode {
  const ref = useInitialFocus<HTMLInputElement>(initialFocus);
  const listener = onInput && {
    onInput: ({ currentTarget }: TargetedInputEvent<HTMLInputElement>) =>
      onInput(currentTarget.value),
  };
  const control = (attributes: ControlAttributes): ComponentChildren => {
    // `h` instead of JSX, whose type for `<input>` needs a literal `type`.
    const element = h("input", { ...input, ...listener, ...attributes, type, ref });
    if (!button) return element;
    return (
      <div class="input-row">
        {element}
        {button}
      </div>
    );
  };
  return <Field label={label} name={name} hint={hint} failure={failure} control={control} />;
}

interface AreaProps {
  readonly rows: number;
  /** Uses a monospace font, for values. */
  readonly code?: boolean;
  /** Text to start with. */
  readonly initial?: string;
  /** Takes the focus when the form appears. */
  readonly initialFocus?: boolean;
  readonly onInput?: (text: string) => void;
}

/** A multi-line input without spell checking and autocompletion. */
export function AreaField({
  label,
  name,
  hint,
  failure,
  rows,
  code = false,
  initial = "",
  initialFocus = false,
  onInput,
}: FieldProps & AreaProps): VNode {
  const ref = useInitialFocus<HTMLTextAreaElement>(initialFocus);
  const control = (attributes: ControlAttributes): VNode => (
    <textarea
      ref={ref}
      class={code ? "code" : undefined}
      rows={rows}
      defaultValue={initial}
      autocomplete="off"
      spellcheck={false}
      onInput={({ currentTarget }) => onInput?.(currentTarget.value)}
      {...attributes}
    />
  );
  return <Field label={label} name={name} hint={hint} failure={failure} control={control} />;
}

interface ChoiceProps {
  readonly onChange?: (value: string) => void;
  readonly children: ComponentChildren;
}

/** A select; `children` are its options. */
export function ChoiceField({
  label,
  name,
  hint,
  failure,
  onChange,
  children,
}: FieldProps & ChoiceProps): VNode {
  return (
    <Field
      label={label}
      name={name}
      hint={hint}
      failure={failure}
      control={(attributes) => (
        <select onChange={(event) => onChange?.(event.currentTarget.value)} {...attributes}>
          {children}
        </select>
      )}
    />
  );
}

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
