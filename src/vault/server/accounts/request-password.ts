import { randomUUID } from "node:crypto";
import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../http/client-network.ts";
import type { Limits } from "../limits.ts";
import type { Transaction } from "../store/store.ts";
import { errors } from "../errors.ts";

const RETRY_AFTER_MS = 60_000;
/** Emails to one recipient are counted for a day, in milliseconds. */
const RECIPIENT_PERIOD_MS = 24 * 3_600_000;

/** Returns the subject that counts the emails to a recipient, until the end of their period. */
export function emailsTo(email: string): string {
  return `email-to:${email}`;
}

/** Returns the time from which a recipient may get another email. */
async function nextEmailAt(
  { loginFailures }: Transaction,
  recipient: string,
  now: number,
  { emailIntervalMs, maxEmailIntervalMs }: Limits,
): Promise<number> {
  const { count, lastAt } = await loginFailures.since(recipient, now);
  if (count === 0) return now;
  const interval = Math.min(maxEmailIntervalMs, emailIntervalMs * 2 ** (count - 1));
  return lastAt - RECIPIENT_PERIOD_MS + interval;
}

/** @throws ServiceError `rate_limited` */
async function rejectWhileThrottled(
  transaction: Transaction,
  {
    recipient,
    sender,
    now,
    limits,
  }: { recipient: string; sender: string; now: number; limits: Limits },
): Promise<void> {
  const sent = await transaction.loginFailures.since(sender, now - limits.loginWindowMs);
  const waitMs = Math.max(
    (await nextEmailAt(transaction, recipient, now, limits)) - now,
    sent.count >= limits.emailsPerAddress ? RETRY_AFTER_MS : 0,
  );
  if (waitMs > 0) throw errors.tooManyEmails(waitMs);
}

/**
 * Queues an email with a link for setting the password of this canonical email. Response and work
 * are the same with and without an account.
 * @param client IP address of the request
 * @param begin called before the effect
 * @throws ServiceError `rate_limited` when too many emails were requested for this recipient or by
 * this client
 */
export async function requestPassword(
  { store, clock, limits, mailer }: VaultContext,
  email: string,
  client: string,
  begin: () => Promise<void>,
): Promise<void> {
  const now = clock.now();
  const network = clientNetwork(client);
  const party = { account: `network:${network}`, login: email };
  const [recipient, sender] = [emailsTo(email), `email-by:${network}`];
  const request = { recipient, sender, now, limits };
  await store.read((transaction) => rejectWhileThrottled(transaction, request), party);
  await begin();
  await store.write(async (transaction) => {
    const { loginFailures, outbox } = transaction;
    // Checked again: several requests may be in flight.
    await rejectWhileThrottled(transaction, request);
    await loginFailures.add(recipient, now + RECIPIENT_PERIOD_MS);
    await loginFailures.add(sender, now);
    await outbox.insert({
      id: randomUUID(),
      kind: "confirmation",
      to: email,
      from: email,
      attempts: 0,
      dueAt: now,
    });
  }, party);
  mailer.wake();
}
