import type { VNode } from "preact";
import { Disclosure } from "../../parts/disclosure.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { formText, Form } from "../../parts/form.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { formatScope } from "../../../../protocol/format-scope.ts";
import {
  isUnlimited,
  scopeAttributes,
  type Scope,
  type ScopeAttribute,
} from "../../../../protocol/scope.ts";
import { PasswordField } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import type { TokenResponse } from "../../../../protocol/responses.ts";
import { issueToken } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";

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

const labels: Readonly<Record<ScopeAttribute, string>> = {
  secret_name: "Names of secrets",
  environment_type: "Environment",
  application_type: "Application",
  classification: "Classification",
  cloud_type: "Cloud",
};

const order: readonly ScopeAttribute[] = [
  "secret_name",
  "environment_type",
  "application_type",
  "classification",
  "cloud_type",
];

/** The values of each attribute that a token admits. */
function ScopeFields(): VNode {
  return (
    <Disclosure label="Limit what it can access">
      <p class="hint">
        Separate several values by commas. The token reaches the secrets that match every field; an
        empty field admits every secret. Files are not limited.
      </p>
      {order.map((attribute) => (
        <TextField
          key={attribute}
          label={labels[attribute]}
          name={attribute}
          autocomplete="off"
          spellcheck={false}
          placeholder="All"
        />
      ))}
    </Disclosure>
  );
}

function admitted(text: string): "*" | ReadonlySet<string> {
  const values = text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
  return values.length === 0 ? "*" : new Set(values);
}

/** Returns the scope string of the form, or `undefined` when it limits nothing. */
function readScope(form: HTMLFormElement): string | undefined {
  const [cloud_type, environment_type, application_type, classification, secret_name] =
    scopeAttributes.map((attribute) => admitted(formText(form, attribute)));
  const scope: Scope = {
    cloud_type: cloud_type ?? "*",
    environment_type: environment_type ?? "*",
    application_type: application_type ?? "*",
    classification: classification ?? "*",
    secret_name: secret_name ?? "*",
  };
  return isUnlimited(scope) ? undefined : formatScope(scope);
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
