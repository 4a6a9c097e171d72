import type { ErrorCode } from "../../../protocol/error-codes.ts";
import { formats, sizeText } from "./formats.ts";

/** A field that the vault rejected, in its own words. */
interface RejectedField {
  readonly path: string;
  readonly reason: string;
}

/** An error response of the vault. */
interface Refusal {
  /** Any code: proxies and other releases of the server have their own. */
  readonly code: string;
  readonly message: string;
  readonly details?: readonly RejectedField[] | undefined;
  /** Seconds after which a request may succeed. */
  readonly retryAfter?: number | undefined;
}

/** A pattern of the vault's words, and what the pages say instead. */
type Rule = readonly [RegExp, (...groups: string[]) => string];

const count = (digits: string | undefined): string => formats.number().format(Number(digits));

const RELOAD = "Reload the page and try again.";
const OPERATOR = "Notify the operator of this vault.";

/** The pages' words for each code; rules for the codes with several meanings. */
const messages: Readonly<Record<ErrorCode, string | readonly Rule[]>> = {
  invalid_request: `The vault rejected the request. ${RELOAD}`,
  invalid_scope: [[/^(.+)$/u, (rule) => `Scope: ${rule}.`]],
  invalid_credentials: "Wrong email address or password.",
  invalid_token: "Your session has ended. Log in again.",
  invalid_refresh_token: "Your session has ended. Log in again.",
  invalid_confirmation: "This link has expired or was already used. Request another email.",
  out_of_scope: "Your login does not give access to this.",
  forbidden: [
    [/for writing only/u, () => "You have write access only: you cannot see the value."],
    [/for reading only/u, () => "You have read access only: ask the owner for write access."],
    [
      /scope attributes/u,
      () => "Only the owner can change the expiry and the attributes that limit tokens.",
    ],
    [/only the creator of a secret/u, () => "Only the owner of the secret can do this."],
    [/block yourself/u, () => "This is your own address: enter another one."],
    [/creator stays/u, () => "You created this team: delete it instead of leaving."],
    [/only the creator of a team/u, () => "Only the creator of the team can change it."],
  ],
  email_mismatch: `You are logged in as another user. ${RELOAD}`,
  csrf_failed: [
    [
      /application at (\S+)$/u,
      (url) => `This is not the address of the web application. Open ${url}`,
    ],
  ],
  secret_expired:
    "This version has expired, and this vault does not show expired values. Add a version or extend the expiry.",
  quota_exceeded: [
    [
      /quota is (\d+) bytes/u,
      (bytes) =>
        `Your storage is full: ${sizeText(Number(bytes))} at most. Delete secrets or files that you no longer need.`,
    ],
    [
      /quota is (\d+) (members|versions) of a (team|secret)/u,
      (most, what, whole) => `A ${whole} has at most ${count(most)} ${what}.`,
    ],
    [
      /quota is (\d+) (simultaneous uploads)/u,
      (most) => `At most ${count(most)} uploads at a time. Try again when one is done.`,
    ],
    [
      /quota is (\d+) (\w+)/u,
      (most, what) =>
        `Your account has ${count(most)} ${what === "logins" ? "tokens" : what}, the most it may have. Delete some first.`,
    ],
  ],
  not_found: RELOAD,
  secret_not_found: "This secret no longer exists, or is no longer shared with you.",
  version_not_found: "This version no longer exists. Reload the page.",
  file_not_found: "This file no longer exists. Reload the page.",
  trash_entry_not_found: "This is no longer in the trash. Reload the page.",
  team_not_found: "You are not in this team, or another one has its name by now.",
  token_not_found: "It has already ended. Reload the page.",
  method_not_allowed: RELOAD,
  use_link_operation: `Its sharing has just changed. ${RELOAD}`,
  use_unshared_operation: `Its sharing has just changed. ${RELOAD}`,
  ambiguous_name: `Several secrets have this name. ${RELOAD}`,
  version_changed: "The versions have changed meanwhile. Nothing was changed.",
  invitation_required: "A recipient has no account or is not logged in. Nothing was shared.",
  name_taken: "You have another one of this name: choose another name.",
  last_version: "This is the only version: delete the secret instead.",
  team_exists:
    "A team of this name, or of one that looks like it, already exists: choose another name.",
  too_large: [
    [
      /key_value is larger than (\d+)/u,
      (bytes) => `The value is too large: at most ${sizeText(Number(bytes))}.`,
    ],
    [
      /metadata .* larger than (\d+)/u,
      (bytes) => `The metadata is too large: at most ${sizeText(Number(bytes))}.`,
    ],
    [
      /file is larger than (\d+)/u,
      (bytes) => `The file is too large: at most ${sizeText(Number(bytes))}.`,
    ],
    [/too many for another name/u, () => "It has too many versions for another name."],
    [/body is too large/u, () => "This is too large for the vault."],
  ],
  misdirected_request: `This is not the address of the vault. ${OPERATOR}`,
  unsupported_media_type: RELOAD,
  rate_limited: [
    [/logins/u, () => "Too many failed logins."],
    [
      /email was just sent/u,
      () => "An email was sent a short time ago, or too many were requested.",
    ],
    [/too many/u, () => "Too many requests."],
  ],
  internal: [
    [/master key/u, () => `The vault cannot decrypt this. ${OPERATOR}`],
    [
      /internal error/u,
      () => "The vault failed. Try again; if it fails again, notify its operator.",
    ],
  ],
  unavailable: [
    [
      /disk space/u,
      () =>
        "The vault is low on disk space: nothing can be added. Delete something, or notify its operator.",
    ],
    [/audit log/u, () => `The vault cannot write its audit log, so it does nothing. ${OPERATOR}`],
    [/store/u, () => "The vault is overloaded or cannot reach its database."],
  ],
};

/** The pages' words for the reasons of one field. */
const reasons: readonly Rule[] = [
  [/without quotation marks/u, () => "enter an email address without quotation marks"],
  [/^expected an email address/u, () => "enter an email address, for example name@example.com"],
  [/names the sharing user/u, () => "this is you: enter another user"],
  [/^must not contain @/u, () => "a team's name cannot contain @: an @ always means a user"],
  [/(?:<=|at most )(\d+) (?:characters|bytes)/u, (most) => `at most ${count(most)} characters`],
  [/at most (\d+) (names|shares|pairs)/u, (most, what) => `at most ${count(most)} ${what}`],
  [
    />=(\d+) characters/u,
    (least) => (least === "1" ? "must not be empty" : `at least ${count(least)} characters`),
  ],
  [/array to have >=/u, () => "must not be empty"],
  [/array to have <=(\d+)/u, (most) => `at most ${count(most)} entries`],
  [/<=9007199254740991/u, () => "this number is too large"],
  [/(?:<=|^must be at most )(\d+)$/u, (most) => `at most ${count(most)}`],
  [/>=(\d+)$/u, (least) => `at least ${count(least)}`],
  [/expected (?:int|number|whole hours)/u, () => "enter a whole number"],
  [/number out of range/u, () => "contains a number that is too large"],
  [/well-formed Unicode/u, () => "contains a character that is cut in half: enter it again"],
  [/control character/u, () => "contains a control character, such as a tab or a line break"],
  [
    /^is one of the most common passwords/u,
    () => "one of the most common passwords: use a few random words",
  ],
  [/^must not repeat/u, () => "repeats a short text: use a few random words"],
  [/^would be invited/u, () => "would be invited by email"],
  [
    /^must not be a sequence/u,
    () => "a sequence, such as abcdef or 123456: use a few random words",
  ],
  [
    /^must not be the email address/u,
    () => "must not be your email address or the name of the product, with little added",
  ],
  [/^some recipients would be invited/u, () => "some would be invited by email"],
  [/^too many addresses that you share nothing with/u, () => "some may be invited by email"],
  [/^must not be the email address/u, () => "must not be your email address"],
];

/** Labels of the fields of requests. */
const labels: Readonly<Record<string, string>> = {
  delete_time: "Delete after",
  email: "Email address",
  expiration_hours: "Lifetime",
  expiration_time: "Expires after",
  filename: "File",
  group_id: "Name",
  group_id_to: "Team",
  key_name: "Name",
  key_value: "Value",
  members: "Members",
  name: "Name",
  new_name: "Name",
  new_password: "New password",
  password: "Password",
  usr_id_from: "Sender",
  usr_id_to: "User",
};

function applied(rules: readonly Rule[], text: string): string | undefined {
  for (const [pattern, words] of rules) {
    const match = pattern.exec(text);
    if (match) return words(...match.slice(1));
  }
  return undefined;
}

/** Turns a phrase into a sentence. */
function sentence(phrase: string): string {
  const text = phrase.charAt(0).toUpperCase() + phrase.slice(1);
  return /[.!?]$/u.test(text) ? text : `${text}.`;
}

function reasonPhrase(reason: string): string {
  return applied(reasons, reason) ?? reason;
}

/** Returns why a field was rejected, as a sentence. */
export function reasonText(reason: string): string {
  return sentence(reasonPhrase(reason));
}

/**
 * Returns the label of the innermost part of a path that has one: `metadata.expiration_time` is
 * `Expires after`.
 */
function labelled({ path, reason }: RejectedField): string {
  const name = path.split(".").findLast((part) => Object.hasOwn(labels, part));
  return name === undefined
    ? reasonText(reason)
    : `${labels[name] ?? ""}: ${sentence(reasonPhrase(reason)).replace(/^./u, (first) => first.toLowerCase())}`;
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(messages, code);
}

function messageText({ code, message, details = [] }: Refusal): string {
  if (code === "invalid_request" && details.length > 0) return details.map(labelled).join(" ");
  const words = isKnown(code) ? messages[code] : [];
  return typeof words === "string" ? words : (applied(words, message) ?? sentence(message));
}

/** Returns `40 seconds` or `2 minutes`. */
export function waitText(seconds: number): string {
  const [amount, unit] = seconds < 100 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
  return `${amount} ${unit}${amount === 1 ? "" : "s"}`;
}

/**
 * Returns an error response of the vault in the words of the pages, with the time after which a
 * retry may succeed.
 */
export function refusalText(refusal: Refusal): string {
  const { retryAfter } = refusal;
  const text = messageText(refusal);
  return retryAfter === undefined ? text : `${text} Try again in ${waitText(retryAfter)}.`;
}
