import type { Clock } from "../../../lib/clock.ts";
import type { Limits } from "../limits.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";
import type { UnacceptedShares } from "../store/tables/sharing-tables.ts";

/**
 * Amounts that a recipient has received from senders whom the recipient has not accepted, by
 * sender.
 */
type Received = ReadonlyMap<string, UnacceptedShares>;

const NOTHING = { secrets: 0, bytes: 0 };

/**
 * Returns the bytes of all senders that the recipient does not block, and of one that may be
 * blocked, who must not notice it.
 */
function totalOf(received: Received, { sender, bytes }: UnacceptedShares): number {
  const others = received.values().filter((each) => !each.blocked && each.sender !== sender);
  return others.reduce((sum, each) => sum + each.bytes, bytes);
}

/**
 * Runs a change of what these addresses receive. Limits how much one sender, and all senders
 * together, put into the list of a recipient who has not accepted them. An amount over its limit
 * may stay, but not grow.
 * @throws ServiceError `quota_exceeded`
 */
export async function withinUnaccepted<T>(
  { clock, limits: { quotas } }: { readonly clock: Clock; readonly limits: Pick<Limits, "quotas"> },
  { grants }: Transaction,
  emails: readonly string[],
  change: () => Promise<T>,
): Promise<T> {
  const now = clock.now();
  const recipients = [...new Set(emails)];
  const ofAll = async (): Promise<Map<string, Received>> => {
    const shares = Map.groupBy(await grants.unaccepted(recipients, now), (each) => each.recipient);
    return new Map(
      recipients.map((email) => [
        email,
        new Map(shares.get(email)?.map((each) => [each.sender, each])),
      ]),
    );
  };
  const before = await ofAll();
  const result = await change();
  for (const [recipient, after] of await ofAll()) {
    const known = before.get(recipient);
    for (const shares of after.values()) {
      const { sender, secrets, bytes } = shares;
      const former = known?.get(sender) ?? NOTHING;
      if (secrets > quotas.unaccepted_secrets && secrets > former.secrets)
        throw errors.quotaExceeded("unaccepted_secrets", quotas.unaccepted_secrets);
      if (bytes <= former.bytes) continue;
      if (bytes > quotas.unaccepted_bytes)
        throw errors.quotaExceeded("unaccepted_bytes", quotas.unaccepted_bytes);
      if (totalOf(after, shares) > quotas.unaccepted_total)
        throw errors.quotaExceeded("unaccepted_total", quotas.unaccepted_total);
    }
  }
  return result;
}
