import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { RequestError } from "../service/request-error.ts";
import { TextField } from "./field.tsx";
import { Icon } from "./icon.tsx";
import { passwordLength } from "../../../protocol/limits.ts";
import { formText } from "./form.tsx";

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

/**
 * Names the account of a new password for password managers: they ignore hidden inputs. The page
 * shows the address elsewhere.
 */
export function AccountName({ email }: { readonly email: string }): VNode {
  return (
    <span class="visually-hidden" aria-hidden="true">
      <input
        type="email"
        name="email"
        autocomplete="username"
        readOnly
        tabIndex={-1}
        defaultValue={email}
      />
    </span>
  );
}

interface NewPasswordFieldsProps {
  /** Name of the field in the request. */
  readonly name: string;
  readonly failure: RequestError | undefined;
}

/** The two fields of a new password. */
export function NewPasswordFields({ name, failure }: NewPasswordFieldsProps): VNode {
  const { min, max } = passwordLength;
  return (
    <>
      <PasswordField
        label="New password"
        name={name}
        autocomplete="new-password"
        minLength={min}
        maxLength={max}
        hint={`At least ${min} characters. A few random words are easier to remember than a short, complex password.`}
        failure={failure}
      />
      <PasswordField
        label="Confirm password"
        name="again"
        autocomplete="new-password"
        failure={failure}
      />
    </>
  );
}

/** Returns the new password of a form. @throws RequestError when the two fields differ */
export function readNewPassword(form: HTMLFormElement, name: string): string {
  const password = formText(form, name);
  if (password === formText(form, "again")) return password;
  throw new RequestError("invalid_request", "Check the passwords.", 0, [
    { path: "again", reason: "The passwords do not match." },
  ]);
}
