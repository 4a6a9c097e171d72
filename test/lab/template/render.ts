import { renderTemplate } from "../../../src/operator/template/render-template.ts";
import { Redacted } from "../../../src/lib/redacted.ts";

/** More work than any test needs. */
const UNITS = 64 * 1024 * 1024;

export type Variables = Readonly<Record<string, string | Uint8Array>>;

/** Returns the variables of a template as the operator passes them. */
export const variablesOf = (variables: Variables): ReadonlyMap<string, Uint8Array> =>
  new Map(
    Object.entries(variables).map(([name, value]) => [
      name,
      typeof value === "string" ? Buffer.from(value) : value,
    ]),
  );

/** Returns the bytes that a template yields. @throws Error with the message of its problem */
export function renderedBytes(
  template: string,
  variables: Variables = {},
  seed = "seed",
  key = "key",
): Buffer {
  const input = {
    template: { data: { [key]: template } },
    variables: variablesOf(variables),
    seed: new Redacted(Buffer.from(seed)),
  };
  const rendering = renderTemplate(input, UNITS);
  if (!rendering.ok) throw new Error(rendering.message);
  return Buffer.from(rendering.content.get(key)!);
}

/** Returns the text that a template yields. @throws Error with the message of its problem */
export const rendered = (template: string, variables: Variables = {}): string =>
  renderedBytes(template, variables).toString();
