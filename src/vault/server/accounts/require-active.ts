import type { Caller } from "./authenticate.ts";
import { REFRESH_IDLE_MS } from "./tokens.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";
import type { AskedAddresses } from "../protection/asked-addresses.ts";

/**
 * Returns the users without an account or a valid session, who cannot see a secret shared with
 * them; the caller is never one.
 */
export async function absentOf(
  { tokens }: Transaction,
  caller: Caller,
  emails: readonly string[],
  now: number,
): Promise<string[]> {
  const live = await tokens.live(emails, now - REFRESH_IDLE_MS, now);
  return emails.filter((email) => email !== caller.email && !live.has(email));
}

/** Addresses that a request gives access to. */
export interface AskedUsers {
  /** Field of the request. */
  readonly path: string;
  /** The addresses in the field; none when it names a team. */
  readonly named: readonly string[];
  /** Addresses that get access. */
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
  { path, named, users, absent: absentUsers }: AskedUsers,
  asked: AskedAddresses,
): Promise<void> {
  const strangers = new Set<string>();
  for (const user of users) {
    if (user !== caller && !(await grants.isAcquainted(user, caller))) strangers.add(user);
  }
  if (strangers.size > 0 && !asked.admits(caller, [...strangers]))
    throw errors.tooManyStrangers(path);
  const absent = new Set(absentUsers);
  if (absent.size === 0) return;
  asked.add(caller, [...strangers]);
  if (named.length === 0) throw errors.invitationRequired([path]);
  const acquainted = named.flatMap((email, index) =>
    absent.has(email) && !strangers.has(email) ? [`${path}.${index}`] : [],
  );
  const others = [...strangers].some((stranger) => absent.has(stranger));
  throw errors.invitationRequired(acquainted, others ? path : undefined);
}
