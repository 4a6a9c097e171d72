import { hasControlCharacter } from "../../../../protocol/names.ts";
import { RequestError } from "../../service/request-error.ts";
import { firstHidden } from "../../text/visible-text.ts";

/** Longest name: docs/design/vault-contract.md#limits. */
const MAX_CHARACTERS = 256;

/**
 * Returns why a name for a new secret is not accepted. The vault accepts more names, but users
 * would not find those again.
 */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "Enter a name.";
  if (hasControlCharacter(name))
    return "Contains a control character, such as a tab or a line break.";
  const hidden = firstHidden(name);
  if (hidden !== undefined)
    return `Contains a character that cannot be seen (${hidden}): enter the name again.`;
  if (Array.from(name).length > MAX_CHARACTERS) return `At most ${MAX_CHARACTERS} characters.`;
  return undefined;
}

/**
 * Returns the name for a new secret, without spaces at its ends. @throws RequestError with the
 * reason at the field `key_name`
 */
export function readSecretName(text: string): string {
  const name = text.trim();
  const reason = nameProblem(name);
  if (reason === undefined) return name;
  throw new RequestError("invalid_request", "Check the name.", 0, [{ path: "key_name", reason }]);
}
