import type { Metadata } from "../../../protocol/metadata.ts";
import { formText } from "../../parts/form-text.ts";
import { RequestError } from "../../service/request-error.ts";
import { metadataText, metadataValue } from "../../text/metadata-text.ts";

/** Metadata names that every secret has. */
export const standardNames = [
  "description",
  "environment_type",
  "classification",
  "cloud_type",
  "application_type",
  "expiration_time",
] as const;

/** Returns the initial text of the field for a standard name. */
export function initialText(initial: Metadata, name: string): string {
  const value = initial[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function standardChange(form: HTMLFormElement, name: (typeof standardNames)[number], initial: Metadata): [string, unknown][] {
  const text = formText(form, `metadata.${name}`);
  if (text === initialText(initial, name)) return [];
  if (name !== "expiration_time") return [[name, text]];
  return text === "" ? [] : [[name, Number(text)]];
}

function customTexts(form: HTMLFormElement): [string, string][] {
  const inputs = (name: string): HTMLInputElement[] => [...form.querySelectorAll<HTMLInputElement>(`input[name="${name}"]`)];
  const values = inputs("custom-value");
  return inputs("custom-name").map(({ value }, at) => [value, values[at]?.value ?? ""]);
}

/**
 * Returns the changes that the fields of `MetadataFields` make to `initial`.
 * @throws RequestError for a duplicate custom name
 */
export function readMetadata(form: HTMLFormElement, initial: Metadata = {}): Metadata {
  const texts = customTexts(form);
  const names = texts.map(([name]) => name);
  const duplicate = names.find((name, at) => names.indexOf(name) !== at);
  if (duplicate !== undefined) throw new RequestError("invalid_request", `The metadata name “${duplicate}” is used twice.`);
  const custom = texts
    .filter(([name, text]) => !Object.hasOwn(initial, name) || metadataText(initial[name]) !== text)
    .map(([name, text]): [string, unknown] => [name, metadataValue(text)]);
  return Object.fromEntries([...standardNames.flatMap((name) => standardChange(form, name, initial)), ...custom]);
}
