import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { RequestError } from "../service/request-error.ts";
import { TextField } from "./field.tsx";
import { Icon } from "./icon.tsx";

interface PasswordFieldProps {
  readonly label: string;
  readonly name: string;
  readonly autocomplete: "current-password" | "new-password";
  readonly hint?: string;
  readonly failure?: RequestError | undefined;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly autofocus?: boolean;
}

/** A required password, hidden until the user shows it. */
export function PasswordField({ label, ...input }: PasswordFieldProps): VNode {
  const [shown, setShown] = useState(false);
  return (
    <TextField
      {...input}
      label={label}
      type={shown ? "text" : "password"}
      required
      spellcheck={false}
      autocapitalize="off"
      button={
        <button
          class="button icon-button"
          type="button"
          aria-pressed={shown}
          aria-label={`Show ${label.toLowerCase()}`}
          title={`${shown ? "Hide" : "Show"} ${label.toLowerCase()}`}
          onClick={() => setShown(!shown)}
        >
          <Icon name={shown ? "eye-off" : "eye"} />
        </button>
      }
    />
  );
}
