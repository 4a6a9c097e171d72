import type { VNode } from "preact";
import { Disclosure } from "../../parts/disclosure.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { formText, Form } from "../../parts/form.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { useTitleFocus } from "../../parts/page-heading.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { TokenResponse } from "../../../../protocol/responses.ts";
import { issueToken } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { useSecrets } from "../secrets/secrets-context.ts";
import { readScope, ScopeFields } from "./scope-fields.tsx";

/** Hours after which a token cannot be refreshed any more. */
const ends: readonly (readonly [hours: string, label: string])[] = [
  ["", "Never, while it is refreshed"],
  [String(30 * 24), "After 30 days"],
  [String(90 * 24), "After 90 days"],
  [String(365 * 24), "After 1 year"],
];

/** Fields that limit where from, and for how long in total, a token can be used. */
function LimitFields({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <Disclosure
      label="Limit where and how long it can be used"
      forced={failure?.reason("allowed_networks") !== undefined}
    >
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
    </Disclosure>
  );
}

interface TokenLimits {
  readonly allowed_networks?: readonly string[];
  readonly lifetime_hours?: number;
}

/** Returns the limits of the form; without a value there is none. */
function readLimits(form: HTMLFormElement): TokenLimits {
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
  const focusTitle = useTitleFocus();
  const { loaded } = useSecrets().list;
  const secrets = loaded.kind === "ready" ? loaded.value : undefined;
  const { failure } = action;
  const work = async (form: HTMLFormElement): Promise<void> => {
    const scope = readScope(form, secrets);
    const tokens = await issueToken(client, {
      password: formText(form, "password"),
      name: formText(form, "name").trim(),
      expiration_hours: Number(formText(form, "expiration_hours")),
      ...(scope !== undefined && { scope }),
      ...readLimits(form),
    });
    form.reset();
    focusTitle();
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
      <ScopeFields secrets={secrets} failure={failure} />
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
