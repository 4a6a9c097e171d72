import type { Clock } from "../../../lib/clock.ts";
import type { Limits, QuotaName, Quotas } from "../limits.ts";
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

/** Limits of the amounts that recipients have not accepted. */
interface Limited {
  readonly clock: Clock;
  readonly limits: Pick<Limits, "quotas">;
}

/** Returns the quota that a growth of what a recipient receives exceeds. */
function exceeded(
  quotas: Quotas,
  before: Received | undefined,
  after: Received,
): QuotaName | undefined {
  for (const shares of after.values()) {
    const { sender, secrets, bytes } = shares;
    const former = before?.get(sender) ?? NOTHING;
    if (secrets > quotas.unaccepted_secrets && secrets > former.secrets)
      return "unaccepted_secrets";
    if (bytes <= former.bytes) continue;
    if (bytes > quotas.unaccepted_bytes) return "unaccepted_bytes";
    if (totalOf(after, shares) > quotas.unaccepted_total) return "unaccepted_total";
  }
  return undefined;
}

/**
 * Runs a change of what these addresses receive. Returns the recipients for whom it exceeds how much
 * one sender, and all senders together, may put into the list of someone who has not accepted them,
 * with the quota. An amount over its limit may stay, but not grow.
 */
export async function beyondUnaccepted<T>(
  { clock, limits: { quotas } }: Limited,
  { grants }: Transaction,
  emails: readonly string[],
  change: () => Promise<T>,
): Promise<{ readonly result: T; readonly beyond: ReadonlyMap<string, QuotaName> }> {
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
  const beyond = new Map<string, QuotaName>();
  for (const [recipient, after] of await ofAll()) {
    const quota = exceeded(quotas, before.get(recipient), after);
    if (quota !== undefined) beyond.set(recipient, quota);
  }
  return { result, beyond };
}

/** Runs such a change within these limits. @throws ServiceError `quota_exceeded` */
export async function withinUnaccepted<T>(
  context: Limited,
  transaction: Transaction,
  emails: readonly string[],
  change: () => Promise<T>,
): Promise<T> {
  const { result, beyond } = await beyondUnaccepted(context, transaction, emails, change);
  const [quota] = beyond.values();
  if (quota !== undefined) throw errors.quotaExceeded(quota, context.limits.quotas[quota]);
  return result;
}
