import type { VNode } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import {
  isUnlimited,
  scopeAttributes,
  type Scope,
  type ScopeAttribute,
  formatScope,
  scopeOf,
  scopeReaches,
} from "../../../../protocol/scope.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { TextField } from "../../parts/field.tsx";
import { formText } from "../../parts/form.tsx";
import { RequestError } from "../../service/request-error.ts";

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

const MAX_SUGGESTIONS = 200;
const MAX_NAMES = 10;

function valueOf({ key_name: name, metadata }: SecretRecord, attribute: ScopeAttribute): string {
  const value = attribute === "secret_name" ? name : metadata[attribute];
  return typeof value === "string" ? value : "";
}

function valuesIn(text: string): string[] {
  return text
    .split(",")
    .map((value) => value.trim())
    .filter((value) => value !== "");
}

/** Returns the scope of the typed texts; an empty one admits every value. */
const typedScope = (textOf: (attribute: ScopeAttribute) => string): Scope =>
  scopeOf((attribute) => {
    const values = valuesIn(textOf(attribute));
    return values.length === 0 ? "*" : new Set(values);
  });

/** @throws RequestError for a value with `*` that is meant as a pattern: the vault has none */
function refusePatterns(scope: Scope, secrets: readonly SecretRecord[]): void {
  for (const attribute of scopeAttributes) {
    const values = scope[attribute];
    if (values === "*") continue;
    const pattern = [...values].find(
      (value) =>
        value.includes("*") && !secrets.some((secret) => valueOf(secret, attribute) === value),
    );
    if (pattern === undefined) continue;
    const what = attribute === "secret_name" ? "name" : "value";
    const reason = `A * is no pattern, and no secret has the ${what} “${pattern}”. Enter whole ${what}s, or leave the field empty for all.`;
    throw new RequestError("invalid_request", "Check the limits.", 0, [
      { path: attribute, reason },
    ]);
  }
}

/**
 * Returns the scope string of the form, or `undefined` when it limits nothing.
 * @throws RequestError for a pattern
 */
export function readScope(
  form: HTMLFormElement,
  secrets: readonly SecretRecord[] | undefined,
): string | undefined {
  const scope = typedScope((attribute) => formText(form, attribute));
  if (secrets) refusePatterns(scope, secrets);
  return isUnlimited(scope) ? undefined : formatScope(scope);
}

/** Returns the values of an attribute that are in use, each after the values typed before it. */
function suggestionsOf(
  secrets: readonly SecretRecord[],
  attribute: ScopeAttribute,
  typed: string,
): string[] {
  const before = valuesIn(typed.slice(0, typed.lastIndexOf(",") + 1));
  const used = new Set(secrets.map((secret) => valueOf(secret, attribute)));
  return [...used]
    .filter((value) => value !== "" && !value.includes(",") && !before.includes(value))
    .sort()
    .slice(0, MAX_SUGGESTIONS)
    .map((value) => [...before, value].join(", "));
}

interface ScopeFieldProps {
  readonly attribute: ScopeAttribute;
  readonly typed: string;
  readonly secrets: readonly SecretRecord[];
  readonly failure: RequestError | undefined;
  readonly onInput: (text: string) => void;
}

function ScopeField({ attribute, typed, secrets, failure, onInput }: ScopeFieldProps): VNode {
  const list = useId();
  const suggestions = useMemo(
    () => suggestionsOf(secrets, attribute, typed),
    [secrets, attribute, typed],
  );
  return (
    <>
      <TextField
        label={labels[attribute]}
        name={attribute}
        autocomplete="off"
        spellcheck={false}
        placeholder="All"
        list={list}
        failure={failure}
        onInput={onInput}
      />
      <datalist id={list}>
        {suggestions.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </>
  );
}

/** Returns how many secrets, and which ones, a token of this scope reads. */
function reachText(secrets: readonly SecretRecord[], scope: Scope): string {
  const all = secrets.length === 1 ? "1 secret" : `${secrets.length} secrets`;
  if (isUnlimited(scope)) return `This token reads all ${all}.`;
  const names = secrets
    .filter(({ key_name: name, metadata }) => scopeReaches(scope, name, metadata))
    .map(({ key_name: name }) => name)
    .sort();
  if (names.length === 0) return `This token reads none of ${all}.`;
  const more = names.length > MAX_NAMES ? `, and ${names.length - MAX_NAMES} more` : "";
  const listed = names.slice(0, MAX_NAMES).join(", ");
  return `This token reads ${names.length} of ${all}: ${listed}${more}.`;
}

interface ScopeFieldsProps {
  /** The secrets of the user, unless they are not loaded. */
  readonly secrets: readonly SecretRecord[] | undefined;
  readonly failure: RequestError | undefined;
}

const none: readonly SecretRecord[] = [];

/** The values of each attribute that a token admits, and the secrets that it reads. */
export function ScopeFields({ secrets, failure }: ScopeFieldsProps): VNode {
  const [typed, setTyped] = useState<Partial<Record<ScopeAttribute, string>>>({});
  const textOf = (attribute: ScopeAttribute): string => typed[attribute] ?? "";
  return (
    <Disclosure label="Limit what it can access">
      <p class="hint">
        Separate several values by commas. The token reaches the secrets that match every field; an
        empty field admits every secret. Files are not limited.
      </p>
      {order.map((attribute) => (
        <ScopeField
          key={attribute}
          attribute={attribute}
          typed={textOf(attribute)}
          secrets={secrets ?? none}
          failure={failure}
          onInput={(text) => setTyped((former) => ({ ...former, [attribute]: text }))}
        />
      ))}
      <p class="hint break" role="status">
        {secrets && reachText(secrets, typedScope(textOf))}
      </p>
    </Disclosure>
  );
}
