import type { ShareRecord } from "../../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { REFRESH_IDLE_MS } from "../accounts/tokens.ts";
import type { Transaction } from "../store/store.ts";

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

/** Returns the state of a share; a share with a team is active when no member is absent. */
export function stateOf(absent: readonly string[]): ShareRecord["state"] {
  return absent.length === 0 ? "active" : "invited";
}
