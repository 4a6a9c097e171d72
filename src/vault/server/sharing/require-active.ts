import type { Recipients } from "../../../protocol/schemas/recipients.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";
import type { AskedAddresses } from "./asked-addresses.ts";

/** A user or a team that a secret is to be shared with. */
export interface InvitedRecipient {
  readonly name: string;
  /** Addresses that receive the share. */
  readonly users: readonly string[];
  /** Those that would be invited. */
  readonly absent: readonly string[];
}

/**
 * Requires that no recipient would be invited. Absent recipients with whom the caller is acquainted
 * are named by their place in the request; of strangers it says only that there are some, and of
 * too many in an hour not even that.
 * @throws ServiceError `invitation_required`
 */
export async function requireActive(
  { grants }: Transaction,
  { email: caller }: Caller,
  to: Recipients,
  recipients: readonly InvitedRecipient[],
  asked: AskedAddresses,
): Promise<void> {
  const path = to.kind === "users" ? "usr_id_to" : "group_id_to";
  const strangers = new Set<string>();
  for (const user of recipients.flatMap(({ users }) => users)) {
    if (user !== caller && !(await grants.isAcquainted(user, caller))) strangers.add(user);
  }
  if (strangers.size > 0 && !asked.admits(caller, [...strangers]))
    throw errors.tooManyStrangers(path);
  const absent = new Set(recipients.flatMap(({ absent: users }) => users));
  if (absent.size === 0) return;
  asked.add(caller, [...strangers]);
  if (to.kind === "team") throw errors.invitationRequired([path], false);
  const named = to.emails.flatMap((email, index) =>
    absent.has(email) && !strangers.has(email) ? [`${path}.${index}`] : [],
  );
  throw errors.invitationRequired(
    named,
    [...strangers].some((stranger) => absent.has(stranger)),
  );
}
