import { Redacted } from "../lib/redacted.ts";
import { logFields } from "./log-fields.ts";
import { codeOf } from "../lib/errors.ts";

const MASK = "[redacted]";
const MAX_DEPTH = 3;

/**
 * Returns the name, code and stack frames of an error, without its message: it can quote a secret
 * value.
 */
function errorFields(error: Error): object {
  const code = codeOf(error);
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /u.test(line));
  return {
    name: error.name,
    ...(code !== undefined && { code }),
    frames: frames.slice(0, 8).map((line) => line.trim()),
  };
}

function redactValue(value: unknown, depth: number): unknown {
  if (value instanceof Redacted) return MASK;
  if (value instanceof Error) return errorFields(value);
  if (typeof value !== "object" || value === null)
    return typeof value === "bigint" ? String(value) : value;
  if (depth === 0 || ArrayBuffer.isView(value)) return MASK;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, depth - 1));
  return redactFields(value, depth - 1);
}

/**
 * Returns the fields of a log line, with `[redacted]` for those not in `logFields`, for bytes and
 * for deeply nested objects.
 */
export function redactFields(fields: object, depth = MAX_DEPTH): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value === undefined) return [name, undefined];
      return [name, logFields.has(name) ? redactValue(value, depth) : MASK];
    }),
  );
}
