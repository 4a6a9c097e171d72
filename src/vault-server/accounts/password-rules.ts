import { passwordLength } from "../../protocol/password-length.ts";
import { errors } from "../errors.ts";

let loading: Promise<ReadonlySet<string>> | undefined;

/** Returns the common passwords in lower case, which are loaded when the first password is set. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import("@zxcvbn-ts/language-common").then(({ dictionary }) => new Set(dictionary["passwords-common"]));
  return loading;
}

/** Returns the shortest text that the given one repeats: `ab` for `ababab`. */
function repeatedUnit(text: string): string {
  return text.slice(0, (text + text).indexOf(text, 1));
}

/**
 * Returns the problem of a new password, or `undefined`: its length; a common password, also with digits and punctuation added, or with
 * capitals; the repetition of a shorter text; the address or a part of it.
 */
export async function passwordProblem(password: string, email: string): Promise<string | undefined> {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) return `must have ${min} to ${max} characters`;
  const text = password.toLowerCase();
  if (repeatedUnit(text).length < min) return "must not repeat a shorter text";
  const word = /^.*\p{L}/su.exec(text)?.[0] ?? "";
  const common = await commonPasswords();
  if (common.has(text) || common.has(word)) return "is one of the most common passwords; a few random words are better";
  if ([email, ...email.split("@")].some((part) => part === text || part === word)) return "must not be the email address";
  return undefined;
}

/** @param field name of the password in the request. @throws ServiceError `invalid_request` */
export async function requireGoodPassword(password: string, email: string, field: string): Promise<void> {
  const problem = await passwordProblem(password, email);
  if (problem !== undefined) throw errors.invalidRequest(field, problem);
}
