import { InvalidArgumentError } from "commander";
import { jsonOrUndefined } from "../../../protocol/client/json-or-undefined.ts";

/**
 * Adds one `name=value` to the metadata. A value that is JSON is one; any other is text. @throws
 * InvalidArgumentError
 */
export function parseMetadata(
  text: string,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const [, name, value = ""] = /^([^=]+)=(.*)$/su.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("expected name=value.");
  return { ...before, [name]: jsonOrUndefined(value) ?? value };
}
