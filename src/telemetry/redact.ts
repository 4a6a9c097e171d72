import { Redacted } from "../lib/redacted.ts";
import { codeOf } from "../lib/errors.ts";

/**
 * Names of the fields that a log line may contain. Any other field is printed as `[redacted]`, to
 * allow a new field only on purpose. The fields carry names, versions, counts, codes and durations
 * only. The names are API: dashboards and alerts read them.
 */
const logFields: ReadonlySet<string> = new Set([
  "action",
  "at",
  "attempt",
  "client",
  "code",
  "connection",
  "controller",
  "count",
  "delayMs",
  "directory",
  "durationMs",
  "emailId",
  "error",
  "event",
  "failures",
  "found",
  "free",
  "fromSchema",
  "host",
  "identity",
  "key",
  "kind",
  "last",
  "lease",
  "lowSpace",
  "mailDir",
  "masterKey",
  "message",
  "metricsUrl",
  "name",
  "namespace",
  "next",
  "objects",
  "operation",
  "port",
  "ready",
  "reason",
  "records",
  "requestId",
  "requests",
  "resource",
  "resourceVersion",
  "reusable",
  "segments",
  "seq",
  "shard",
  "status",
  "target",
  "toSchema",
  "url",
  "volume",
  "why",
]);

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
