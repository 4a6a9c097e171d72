import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import type { RequestError } from "../../service/request-error.ts";

/** Hours after which a token cannot be refreshed any more. */
const ends: readonly (readonly [hours: string, label: string])[] = [
  ["", "Never, while it is refreshed"],
  [String(30 * 24), "After 30 days"],
  [String(90 * 24), "After 90 days"],
  [String(365 * 24), "After 1 year"],
];

/** Fields that limit where from, and for how long in total, a token can be used. */
export function LimitFields({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <details class="more" open={failure?.reason("allowed_networks") !== undefined}>
      <summary>Limit where and how long it can be used</summary>
      <TextField
        label="Networks"
        name="allowed_networks"
        autocomplete="off"
        spellcheck={false}
        placeholder="All"
        hint="Addresses or networks such as 10.0.0.0/8, separated by commas, as the vault sees the program."
        failure={failure}
      />
      <ChoiceField label="Ends" name="lifetime_hours" failure={failure}>
        {ends.map(([hours, label]) => (
          <option key={hours} value={hours}>
            {label}
          </option>
        ))}
      </ChoiceField>
    </details>
  );
}

interface TokenLimits {
  readonly allowed_networks?: readonly string[];
  readonly lifetime_hours?: number;
}

/** Returns the limits of the form; without a value there is none. */
export function readLimits(form: HTMLFormElement): TokenLimits {
  const networks = formText(form, "allowed_networks")
    .split(",")
    .map((network) => network.trim())
    .filter((network) => network !== "");
  const hours = formText(form, "lifetime_hours");
  return {
    ...(networks.length > 0 && { allowed_networks: networks }),
    ...(hours !== "" && { lifetime_hours: Number(hours) }),
  };
}
