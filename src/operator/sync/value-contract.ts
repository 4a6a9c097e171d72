import { parseAllDocuments } from "yaml";
import { InvalidJsonError, parseStrictJson } from "../../lib/strict-json.ts";
import type { ValueContract } from "../api/value-contract.ts";
import { parseLongDuration } from "../lib/duration.ts";
import { LinearRegExp, linearRegExp } from "../lib/linear-regexp.ts";
import { certificatesIn, pemBlocks } from "../template/keystores/pem.ts";
import { TemplateFault } from "../template/template-fault.ts";
import { utf8Text } from "../lib/utf8-text.ts";
import { decodeBase64 } from "./transform.ts";

/** Bytes that a target is to have, and the time in milliseconds at which that is decided. */
export interface CheckedValue {
  readonly bytes: Uint8Array;
  /** `undefined`: a target has this version already, and the time of its certificate is no rule. */
  readonly now: number | undefined;
}

/** A rule that a value does not fit. It contains nothing of the value. */
export interface BrokenRule {
  /** Its field in `validate`. */
  readonly rule: string;
  /** Text after "expected". */
  readonly expected: string;
}

/** Returns what a rule expects, if the value does not fit it. `text`: `undefined` if it is not UTF-8. */
type Check = (contract: ValueContract, value: CheckedValue, text?: string) => string | undefined;

/** Maximum nesting of JSON. */
const MAX_DEPTH = 64;
/** Maximum length of a URL. */
const MAX_URL_LENGTH = 16_384;

/** Returns the number of characters of UTF-8 text: all bytes but those that continue one. */
const charactersIn = (bytes: Uint8Array): number =>
  bytes.reduce((count, byte) => count + ((byte & 0xc0) === 0x80 ? 0 : 1), 0);

const lengthOf = ({ bytes }: CheckedValue, text: string | undefined): number =>
  text === undefined ? bytes.byteLength : charactersIn(bytes);

/** RFC 3986, and a prefix as in `jdbc:postgresql://db/shop`. */
const URL_TEXT = /^(?:[a-z][a-z0-9+.-]*:)+\/\/(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/i;
const WEB_URL = /^(?:https?|wss?):/i;

function isUrl(text: string): boolean {
  if (text.length > MAX_URL_LENGTH || !URL_TEXT.test(text)) return false;
  // The parser rejects several hosts, as URLs of databases have them.
  return !WEB_URL.test(text) || URL.canParse(text);
}

function isJson(bytes: Uint8Array): boolean {
  try {
    parseStrictJson(bytes, { maxDepth: MAX_DEPTH });
    return true;
  } catch (error) {
    if (error instanceof InvalidJsonError) return false;
    throw error;
  }
}

/** Maximum length of YAML: the parser needs some 500 bytes of memory for a character. */
const MAX_YAML_LENGTH = 128 * 1024;

function isYaml(text: string): boolean {
  if (text.length > MAX_YAML_LENGTH) return false;
  try {
    return [...parseAllDocuments(text)].every(({ errors }) => errors.length === 0);
  } catch {
    // The parser has no limit for nesting but the stack.
    return false;
  }
}

/** Header of a block, as in an encrypted key (RFC 1421). */
const PEM_HEADER = /^[A-Za-z-]+: .*$/gm;

function isPem(text: string): boolean {
  try {
    const blocks = pemBlocks(text).map(({ body }) => body.replace(PEM_HEADER, "").trim());
    return (
      blocks.length > 0 &&
      blocks.every((body) => body !== "" && decodeBase64(Buffer.from(body)) !== undefined)
    );
  } catch (error) {
    if (error instanceof TemplateFault) return false;
    throw error;
  }
}

/** Formats, each with what it is called in a message and the check of a text. */
const formats: Readonly<
  Record<
    NonNullable<ValueContract["format"]>,
    readonly [string, (text: string, bytes: Uint8Array) => boolean]
  >
> = {
  JSON: ["JSON", (_, bytes) => isJson(bytes)],
  YAML: [`YAML of at most ${MAX_YAML_LENGTH} characters`, isYaml],
  PEM: ["PEM blocks", isPem],
  URL: ["a URL, such as postgres://db/shop", isUrl],
  Base64: ["base64", (_, bytes) => decodeBase64(bytes) !== undefined],
  Integer: ["an integer", (text) => /^-?[0-9]+$/.test(text)],
};

/** Difference in milliseconds between the clocks of an issuer and of the operator that is tolerated. */
const CLOCK_SKEW_MS = 5 * 60_000;

function certificateProblem(
  { validFor, dnsName }: NonNullable<ValueContract["certificate"]>,
  now: number | undefined,
  text: string,
): string | undefined {
  let leaf: ReturnType<typeof certificatesIn>[number] | undefined;
  try {
    [leaf] = certificatesIn(text);
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error;
  }
  if (leaf === undefined) return "a PEM certificate";
  if (dnsName !== undefined && leaf.checkHost(dnsName, { subject: "never" }) === undefined)
    return `a certificate for ${dnsName}`;
  if (now === undefined) return undefined;
  if (Date.parse(leaf.validFrom) > now + CLOCK_SKEW_MS) return "a certificate that is valid now";
  const atLeast = validFor === undefined ? 0 : parseLongDuration(validFor);
  if (Date.parse(leaf.validTo) > now + atLeast) return undefined;
  return validFor === undefined
    ? "a certificate that has not expired"
    : `a certificate that is valid for ${validFor}`;
}

/** The rules in the order in which they are checked: the cheap ones first. */
const checks: Readonly<Record<keyof ValueContract, Check>> = {
  notEmpty: ({ notEmpty }, { bytes }, text) =>
    notEmpty === true && (bytes.byteLength === 0 || text?.trim() === "")
      ? "more than white space"
      : undefined,
  minLength: ({ minLength = 0 }, value, text) =>
    lengthOf(value, text) < minLength ? `at least ${minLength} characters` : undefined,
  maxLength: ({ maxLength = Infinity }, value, text) =>
    lengthOf(value, text) > maxLength ? `at most ${maxLength} characters` : undefined,
  pattern: ({ pattern }, _, text) => {
    if (pattern === undefined) return undefined;
    const expression = linearRegExp(pattern);
    const isMatch =
      text !== undefined && expression instanceof LinearRegExp && expression.test(text);
    return isMatch ? undefined : `text that matches ${pattern}`;
  },
  format: ({ format }, { bytes }, text) => {
    if (format === undefined) return undefined;
    const [name, hasFormat] = formats[format];
    return text !== undefined && hasFormat(text, bytes) ? undefined : name;
  },
  certificate: ({ certificate }, { now }, text) =>
    certificate && certificateProblem(certificate, now, text ?? ""),
};

/** Returns the first rule that a value does not fit. Total. */
export function brokenRule(contract: ValueContract, value: CheckedValue): BrokenRule | undefined {
  const text = utf8Text(value.bytes);
  for (const [rule, check] of Object.entries(checks)) {
    const expected = check(contract, value, text);
    if (expected !== undefined) return { rule, expected };
  }
  return undefined;
}
