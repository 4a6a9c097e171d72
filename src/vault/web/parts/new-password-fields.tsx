import type { VNode } from "preact";
import { passwordLength } from "../../../protocol/password-length.ts";
import { RequestError } from "../service/request-error.ts";
import { formText } from "./form-text.ts";
import { PasswordField } from "./password-field.tsx";

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
  throw new RequestError("invalid_request", "The passwords do not match.", 0, [
    { path: "again", reason: "Does not match." },
  ]);
}
