import type { VNode } from "preact";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { TokenResponse } from "../../../../protocol/responses.ts";
import { issueToken } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { LimitFields, readLimits } from "./limit-fields.tsx";
import { readScope, ScopeFields } from "./scope-fields.tsx";

const DEFAULT_HOURS = 24;

/** Lifetimes in hours. */
const lifetimes: readonly (readonly [number, string])[] = [
  [1, "1 hour"],
  [DEFAULT_HOURS, "24 hours"],
  [7 * 24, "7 days"],
  [30 * 24, "30 days"],
  [90 * 24, "90 days"],
  [365 * 24, "1 year"],
];

interface NewTokenFormProps {
  readonly onIssued: (tokens: TokenResponse) => Promise<void>;
}

/** Creates an access token after a password check. */
export function NewTokenForm({ onIssued }: NewTokenFormProps): VNode {
  const client = useClient();
  const action = useAction();
  const { failure } = action;
  const work = async (form: HTMLFormElement): Promise<void> => {
    const scope = readScope(form);
    const tokens = await issueToken(client, {
      password: formText(form, "password"),
      name: formText(form, "name").trim(),
      expiration_hours: Number(formText(form, "expiration_hours")),
      ...(scope !== undefined && { scope }),
      ...readLimits(form),
    });
    form.reset();
    await onIssued(tokens);
  };
  return (
    <Form action={action} submit="Create token" icon="terminal" work={work}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={100}
        autocomplete="off"
        placeholder="Backup script"
        hint="Identifies it in the list of tokens."
        failure={failure}
      />
      <ChoiceField label="Lifetime" name="expiration_hours" failure={failure}>
        {lifetimes.map(([hours, label]) => (
          <option key={hours} value={String(hours)} selected={hours === DEFAULT_HOURS}>
            {label}
          </option>
        ))}
      </ChoiceField>
      <ScopeFields />
      <LimitFields failure={failure} />
      <PasswordField
        label="Confirm your password"
        name="password"
        autocomplete="current-password"
        failure={failure}
      />
    </Form>
  );
}
