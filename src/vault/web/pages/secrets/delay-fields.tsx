import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import type { RequestError } from "../../service/request-error.ts";

/** Number and unit of the time until a secret is deleted; `readDelay` reads them. */
export function DelayFields({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <div class="field-grid">
      <TextField
        label="Delete after"
        name="delete_time"
        type="number"
        min="1"
        max="100000"
        step="1"
        placeholder="never"
        hint="Deletes the secret for everyone it is shared with. Expiry, in contrast, deletes nothing."
        failure={failure}
      />
      <ChoiceField label="Unit" name="delete_unit">
        <option value="1">minutes</option>
        <option value="60">hours</option>
        <option value="1440" selected>
          days
        </option>
      </ChoiceField>
    </div>
  );
}

/** Returns the minutes of `DelayFields`, undefined for never. */
export function readDelay(form: HTMLFormElement): number | undefined {
  const amount = formText(form, "delete_time");
  return amount === "" ? undefined : Number(amount) * Number(formText(form, "delete_unit"));
}
