import type { IncomingHttpHeaders } from "node:http";

/** Codings of an `accept-encoding` header that are read. */
const MAX_CODINGS = 20;

const isExcluded = (parameter: string): boolean => /^q=0(?:\.0*)?$/u.test(parameter);

/**
 * Returns the first of these content encodings that a client names and does not exclude by `q=0`
 * (RFC 9110, section 12.5.3), or `undefined`.
 */
export function acceptedEncoding<E extends string>(
  headers: IncomingHttpHeaders,
  encodings: readonly E[],
): E | undefined {
  const codings = (headers["accept-encoding"] ?? "")
    .toLowerCase()
    .split(",", MAX_CODINGS)
    .map((coding) => coding.split(";").map((part) => part.trim()));
  const accepted = new Set(
    codings.flatMap(([name, ...parameters]) => (parameters.some(isExcluded) ? [] : name)),
  );
  return encodings.find((encoding) => accepted.has(encoding));
}
