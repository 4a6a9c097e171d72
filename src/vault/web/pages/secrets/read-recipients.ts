import { RequestError } from "../../service/request-error.ts";
import type { Recipients } from "../../service/secrets.ts";
import { emailList } from "../../text/email-list.ts";

/** @throws RequestError that names the first entry which is not an email address */
function checkEmails(emails: readonly string[]): void {
  const wrong = emails.find((email) => !/^[^@]+@[^@]+$/u.test(email));
  if (wrong === undefined) return;
  const reason = wrong.includes("@")
    ? `“${wrong}” is not an email address.`
    : `“${wrong}” is not an email address. Share with a team separately.`;
  throw new RequestError("invalid_request", reason, 0, [
    { path: "usr_id_to", reason: "Check the addresses." },
  ]);
}

/**
 * Parses the recipients of a share: email addresses, apart by commas or spaces, or the name of one
 * team. What has an @ is a user, never a team.
 * @throws RequestError when one of several entries is not an address
 */
export function readRecipients(text: string): Recipients {
  if (!text.includes("@")) return { kind: "team", to: text.trim() };
  const to = [...new Set(emailList(text))];
  checkEmails(to);
  return { kind: "people", to };
}
