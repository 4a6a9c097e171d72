import { parseAllDocuments } from "yaml";
import type { Draw } from "./random-features.ts";
import { hostOf, isCertificateOf, isJson, isPem } from "./simulated-values.ts";

/** `validate` of a source, as far as simulated specs have it. */
export interface Rules {
  readonly notEmpty?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly certificate?: { readonly validFor?: string; readonly dnsName?: string };
}

/** Simple checks that are right for simulated values only. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  JSON: isJson,
  YAML: (text) => parseAllDocuments(text).every(({ errors }) => errors.length === 0),
  PEM: isPem,
  URL: () => false,
  Base64: (text) => /^[A-Za-z0-9+/=]*$/.test(text),
  Integer: () => false,
};

/**
 * Patterns of the number of a write: some versions fit, and some do not. They do not contain the
 * canary, because messages contain them.
 */
const PATTERNS = ["y-[0-9]*[02468]-", "y-[0-9]*[13579]-", "y-[0-9]*[0-6]-"] as const;

/** Returns rules that some versions of simulated values fit. */
export function randomRules(draw: Draw, isCertificate: boolean): Rules {
  const pattern = { pattern: draw.pick(PATTERNS) };
  const certificate = { certificate: { validFor: "7d", dnsName: hostOf("one") } };
  if (isCertificate) return draw.pick([pattern, certificate, certificate, { format: "PEM" }]);
  return draw.pick<Rules>([
    pattern,
    pattern,
    { notEmpty: true, ...pattern },
    { notEmpty: true },
    { minLength: draw.pick([11, 14, 30]) },
    { minLength: 1, maxLength: draw.pick([12, 40]) },
    { format: "JSON" },
    { format: draw.pick(Object.keys(formats)) },
    draw.below(0.3) ? certificate : { notEmpty: true, maxLength: 100 },
  ]);
}

/** Reports whether bytes in base64 fit rules. */
export function fits(rules: Rules | undefined, base64: string): boolean {
  if (rules === undefined) return true;
  const text = Buffer.from(base64, "base64").toString();
  const { notEmpty = false, minLength = 0, maxLength = Infinity, pattern, format } = rules;
  const { certificate } = rules;
  return (
    (!notEmpty || text !== "") &&
    text.length >= minLength &&
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern).test(text)) &&
    (format === undefined || formats[format]!(text)) &&
    (certificate === undefined || isCertificateOf(certificate.dnsName, text))
  );
}
