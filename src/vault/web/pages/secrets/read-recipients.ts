import type { TeamRecord } from "../../../../protocol/responses.ts";
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
 * of the teams. What has an @ is a user, never a team.
 * @throws RequestError when one of several entries is not an address; `team_not_found` for a team
 * that the page does not show: the user has not seen its creator and its members
 */
export function readRecipients(text: string, teams: readonly TeamRecord[]): Recipients {
  if (!text.includes("@")) {
    const to = text.trim();
    const team = teams.find(({ group_id: name }) => name === to);
    // The vault rejects an @ in any form, and says why.
    if (!team && !to.normalize("NFKC").includes("@"))
      throw new RequestError("team_not_found", `You have no team “${to}”.`);
    return { kind: "team", to, creator: team?.creator };
  }
  const to = [...new Set(emailList(text))];
  checkEmails(to);
  return { kind: "people", to };
}
