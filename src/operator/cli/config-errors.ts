import type { Command } from "commander";
import type { z } from "zod";
import { isObject } from "../../lib/is-object.ts";
import { printable } from "../../lib/printable.ts";

/** Returns the rejected value, if it is text. Settings contain no secrets. */
function foundAt(flags: unknown, path: readonly PropertyKey[]): string {
  let value = flags;
  for (const name of path) {
    if (Array.isArray(value)) value = value[Number(name)];
    else value = isObject(value) ? value[String(name)] : undefined;
  }
  return typeof value === "string" ? `, found ${JSON.stringify(value)}` : "";
}

/**
 * Returns one line for each setting that is refused: its flag and variable, what is expected, and
 * what was found.
 */
export function configErrors(error: z.ZodError, flags: object, { options }: Command): string {
  const lines = error.issues.map(({ code, path, message }) => {
    const option = options.find((one) => one.attributeName() === path[0]);
    const name = `${option?.long ?? String(path[0])} (${option?.envVar ?? "no variable"})`;
    // The text of a rule between several settings names what it is about.
    const found = code === "custom" && path.length === 1 ? "" : foundAt(flags, path);
    return printable(`error: ${name}: ${message}${found}`);
  });
  return lines.join("\n");
}
