import { TemplateFault } from "../template-fault.ts";
import type { Value } from "../value.ts";
import type { TemplateFunction } from "./template-function.ts";

const MAX_INDENT = 32;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const onText = (run: (text: string) => string): TemplateFunction => ({
  arguments: [0, 0],
  run: ({ text }) => run(text),
});

/** Returns the text with every character escaped that RFC 3986 reserves. */
function urlencode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Returns the text in double quotes, as a shell and the readers of `.env` files take it literally.
 */
const quote = (text: string): string => `"${text.replaceAll(/["$\\`]/g, String.raw`\$&`)}"`;

function indent({ text }: Value, width: Value | undefined): string {
  const count = /^\d{1,2}$/.test(width?.text ?? "") ? Number(width?.text) : Infinity;
  if (count > MAX_INDENT)
    throw new TemplateFault(
      `indent: expected a number of spaces up to ${MAX_INDENT}, for example indent: 4`,
    );
  return text.replaceAll(/\n(?!\n|$)/g, `\n${" ".repeat(count)}`);
}

function base64decode(input: Value): Uint8Array {
  const text = input.text.replaceAll(/[\r\n]/g, "");
  if (!BASE64.test(text) || text.length % 4 !== 0)
    throw new TemplateFault(`base64decode: ${input.label} is not base64`);
  return Buffer.from(text, "base64");
}

/** Functions of text. */
export const textFunctions: Readonly<Record<string, TemplateFunction>> = {
  upper: onText((text) => text.toUpperCase()),
  lower: onText((text) => text.toLowerCase()),
  trim: onText((text) => text.trim()),
  urlencode: onText(urlencode),
  json: onText((text) => JSON.stringify(text)),
  quote: onText(quote),
  indent: { arguments: [1, 1], run: (input, [width]) => indent(input, width) },
  base64: { arguments: [0, 0], run: ({ bytes }) => Buffer.from(bytes).toString("base64") },
  base64decode: { arguments: [0, 0], run: base64decode },
};
