import type { VNode } from "preact";
import { formatScope } from "../../../../protocol/format-scope.ts";
import {
  isUnlimited,
  scopeAttributes,
  type Scope,
  type ScopeAttribute,
} from "../../../../protocol/scope.ts";
import { TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";

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
export function ScopeFields(): VNode {
  return (
    <details class="more">
      <summary>Limit what it can access</summary>
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
    </details>
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
export function readScope(form: HTMLFormElement): string | undefined {
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
