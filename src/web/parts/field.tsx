import { h, type ComponentChildren, type VNode } from "preact";
import { useId } from "preact/hooks";
import type { RequestError } from "../service/request-error.ts";

interface FieldProps {
  readonly label: string;
  /** Under which the form sends it, and the service complains about it. */
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

/** A label, its control, a hint and what was wrong with it, tied together for screen readers. */
function Field({
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

/** Of what an `<input>` can have, what the forms use. */
interface InputProps {
  readonly type?: "text" | "email" | "password" | "number";
  readonly defaultValue?: string;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly autofocus?: boolean;
  readonly spellcheck?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly min?: string;
  readonly step?: string;
  /** Id of a datalist. */
  readonly list?: string;
}

/** One line. */
export function TextField({ label, name, hint, failure, type = "text", ...input }: FieldProps & InputProps): VNode {
  // Not as an element: its type has a case for each pair of `type` and `list`, and this is all of them.
  const control = (attributes: ControlAttributes): ComponentChildren => h("input", { ...input, ...attributes, type });
  return <Field label={label} name={name} hint={hint} failure={failure} control={control} />;
}

interface AreaProps {
  readonly rows: number;
  /** For values: in the letters of code. */
  readonly code?: boolean;
}

/** Several lines, exactly as typed: nothing corrects or remembers them. */
export function AreaField({ label, name, hint, failure, rows, code = false }: FieldProps & AreaProps): VNode {
  const control = (attributes: ControlAttributes): VNode => (
    <textarea class={code ? "code" : undefined} rows={rows} autocomplete="off" spellcheck={false} {...attributes} />
  );
  return <Field label={label} name={name} hint={hint} failure={failure} control={control} />;
}

/** `children` are the options. */
export function ChoiceField({
  label,
  name,
  hint,
  failure,
  children,
}: FieldProps & { readonly children: ComponentChildren }): VNode {
  return (
    <Field
      label={label}
      name={name}
      hint={hint}
      failure={failure}
      control={(attributes) => <select {...attributes}>{children}</select>}
    />
  );
}
