import type { VNode } from "preact";
import { RequestError } from "../service/request-error.ts";
import { TextField } from "./field.tsx";
import { formText } from "./form-text.ts";

interface NewPasswordFieldsProps {
  /** Name of the field in the request. */
  readonly name: string;
  readonly failure: RequestError | undefined;
}

/** The two fields of a new password. */
export function NewPasswordFields({ name, failure }: NewPasswordFieldsProps): VNode {
  return (
    <>
      <TextField
        label="New password"
        name={name}
        type="password"
        autocomplete="new-password"
        required
        minLength={12}
        maxLength={1024}
        hint="At least 12 characters. A few random words are easier to remember than a short, complex password."
        failure={failure}
      />
      <TextField label="Confirm password" name="again" type="password" autocomplete="new-password" required failure={failure} />
    </>
  );
}

/** Returns the new password of a form. @throws RequestError when the two fields differ */
export function readNewPassword(form: HTMLFormElement, name: string): string {
  const password = formText(form, name);
  if (password === formText(form, "again")) return password;
  throw new RequestError("invalid_request", "The passwords do not match.", 0, [{ path: "again", reason: "does not match" }]);
}
