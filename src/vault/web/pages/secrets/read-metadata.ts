import type { Metadata } from "../../../../protocol/metadata.ts";
import { formText } from "../../parts/form.tsx";
import { inputText } from "../../routing/typed-text.ts";
import { RequestError } from "../../service/request-error.ts";
import type { MetadataChanges } from "../../service/secrets.ts";
import {
  isBrokenJson,
  metadataText,
  metadataValue,
  metadataLabel,
} from "../../text/metadata-text.ts";

/**
 * The metadata of a secret that is created without any: the standard names and their defaults in
 * the vault.
 */
export const defaultMetadata: Metadata = {
  description: "n/a",
  environment_type: "dev",
  classification: "top",
  cloud_type: "aws",
  application_type: "container",
  expiration_time: 10,
};

export function isStandardName(name: string): boolean {
  return Object.hasOwn(defaultMetadata, name);
}

/**
 * Returns the initial text of the field for a standard name. A description that no user wrote is
 * empty.
 */
export function initialText(initial: Metadata, name: string): string {
  const value = initial[name];
  if (name === "description" && value === defaultMetadata[name]) return "";
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function standardChange(
  form: HTMLFormElement,
  name: string,
  initial: Metadata,
): [string, unknown][] {
  if (!form.elements.namedItem(`metadata.${name}`)) return [];
  const text = formText(form, `metadata.${name}`);
  if (text === initialText(initial, name)) return [];
  return [[name, name === "expiration_time" ? Number(text) : text]];
}

interface CustomText {
  readonly name: string;
  readonly text: string;
}

function customTexts(form: HTMLFormElement): CustomText[] {
  const inputs = (name: string): HTMLInputElement[] => [
    ...form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`),
  ];
  const values = inputs("custom-value").map(inputText);
  // The name of existing metadata is what it is.
  return inputs("custom-name").map((input, at) => ({
    name: input.readOnly ? inputText(input) : input.value.trim(),
    text: values[at] ?? "",
  }));
}

const rejected = (message: string): RequestError => new RequestError("invalid_request", message);

/** @throws RequestError for a name that would not become what the user means */
function checkNames(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw rejected(`The metadata name “${twice}” is used twice.`);
  const standard = names.find(isStandardName);
  if (standard === undefined) return;
  throw rejected(
    `“${standard}” is the field “${metadataLabel(standard)}” above: enter its value there.`,
  );
}

/** @throws RequestError for JSON that cannot be parsed: it would be stored as text */
function checkValue({ name, text }: CustomText): void {
  if (!isBrokenJson(text)) return;
  throw rejected(
    `The value of “${name}” starts like JSON but is not valid JSON, or has a number with too many digits. To store it as text, write it in quotation marks.`,
  );
}

/**
 * Returns the changes that the fields of `MetadataFields` make to `base`.
 * @throws RequestError for a duplicate or standard name among the custom ones, and for malformed
 * JSON
 */
export function readMetadata(form: HTMLFormElement, base: Metadata): MetadataChanges {
  const texts = customTexts(form);
  const names = texts.map(({ name }) => name);
  checkNames(names);
  const changed = texts.filter(
    ({ name, text }) => !Object.hasOwn(base, name) || metadataText(base[name]) !== text,
  );
  changed.forEach(checkValue);
  const custom = changed.map(({ name, text }): [string, unknown] => [name, metadataValue(text)]);
  const standard = Object.keys(defaultMetadata).flatMap((name) => standardChange(form, name, base));
  const removed = Object.keys(base).filter(
    (name) => !isStandardName(name) && !names.includes(name),
  );
  return { metadata: Object.fromEntries([...standard, ...custom]), removed };
}
