import { passwordLength } from "../../../protocol/limits.ts";
import { errors } from "../errors.ts";

let loading: Promise<ReadonlySet<string>> | undefined;

/** Returns the common passwords in lower case; loads them when the first password is set. */
async function commonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import("@zxcvbn-ts/language-common").then(
    ({ dictionary }) => new Set(dictionary["passwords-common"]),
  );
  return loading;
}

/** Characters that digits and punctuation stand for. */
const STANDS_FOR: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "@": "a",
  $: "s",
};

function spelledOut(text: string): string {
  return text.replaceAll(/[013457@$]/gu, (character) => STANDS_FOR[character] ?? character);
}

/**
 * Returns a text up to its last alphabetic character: without the digits and punctuation added to a
 * word.
 */
function wordOf(text: string): string {
  return /^.*\p{L}/su.exec(text)?.[0] ?? "";
}

/** Returns the shortest text that the given one repeats: `ab` for `ababab`. */
function repeatedUnit(text: string): string {
  return text.slice(0, (text + text).indexOf(text, 1));
}

/** Neighboring keys, in addition to neighbors in the order of characters. */
const KEY_ROWS = "qwertyuiop asdfghjkl zxcvbnm poiuytrewq lkjhgfdsa mnbvcxz 90 09";
/** Number of characters of a password that do not follow from the one before. */
const FEWEST_STEPS = 6;

/**
 * Counts the characters that neither repeat the one before, nor are its neighbor: 1 in `aaa`, `abc`
 * and `qwe`.
 */
function stepsIn(text: string): number {
  const characters = Array.from(text);
  return characters.filter((character, index) => {
    const before = characters[index - 1];
    if (before === undefined) return true;
    const distance = (character.codePointAt(0) ?? 0) - (before.codePointAt(0) ?? 0);
    return Math.abs(distance) > 1 && !KEY_ROWS.includes(before + character);
  }).length;
}

const SHORTEST_PART = 3;
const LONGEST_PAIR = 64;

/** Reports whether a word is a common password, or consists of two. */
function isCommon(common: ReadonlySet<string>, word: string): boolean {
  if (common.has(word)) return true;
  if (word.length > LONGEST_PAIR) return false;
  return Array.from({ length: word.length }, (_, at) => at).some(
    (at) => at >= SHORTEST_PART && common.has(word.slice(0, at)) && common.has(word.slice(at)),
  );
}

/** Words that an attacker of this vault tries first. */
const PRODUCT_WORDS = ["vaultsync", "vault", "secret", "password"];
/** Number of alphabetic characters that a password has in addition to such words. */
const FEWEST_OWN = 4;

/** Reports whether a text has little in addition to the product's words, the email or its parts. */
function isContext(text: string, email: string): boolean {
  const parts = [email, ...email.split(/[^\p{L}\p{N}]+/u)].filter(
    ({ length }) => length >= SHORTEST_PART,
  );
  const words = [...parts, ...PRODUCT_WORDS].sort((a, b) => b.length - a.length);
  const rest = words.reduce((left, word) => left.replaceAll(word, ""), text);
  return rest !== text && rest.replaceAll(/\P{L}/gu, "").length < FEWEST_OWN;
}

/**
 * Returns the problem of a new password, or `undefined`: its length; the repetition of a shorter
 * text; characters in the order of the alphabet or the keyboard; a common password or two, also
 * with digits and punctuation added or substituted, or with capitals; the address, its parts and
 * the product's name with little added.
 */
export async function passwordProblem(
  password: string,
  email: string,
): Promise<string | undefined> {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max)
    return `must have ${min} to ${max} characters`;
  const text = password.toLowerCase();
  const forms = [text, wordOf(text), wordOf(spelledOut(text))];
  if (forms.some((form) => form.length >= min && repeatedUnit(form).length < min))
    return "must not repeat a shorter text";
  if (stepsIn(text) < FEWEST_STEPS)
    return "must not be a sequence, such as abcdef, 111111 or qwerty";
  const common = await commonPasswords();
  if (forms.some((form) => isCommon(common, form))) {
    return "is one of the most common passwords, or two of them; a few random words are better";
  }
  if (isContext(text, email))
    return "must not be the email address, or the name of the product, with little added";
  return undefined;
}

/** @param field name of the password in the request. @throws ServiceError `invalid_request` */
export async function requireGoodPassword(
  password: string,
  email: string,
  field: string,
): Promise<void> {
  const problem = await passwordProblem(password, email);
  if (problem !== undefined) throw errors.invalidRequest(field, problem);
}
