import { randomUUID } from "node:crypto";
import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../http/client-network.ts";
import type { Limits } from "../limits.ts";
import type { Transaction } from "../store/store.ts";
import { errors } from "../errors.ts";

const RETRY_AFTER_MS = 60_000;

/** @throws ServiceError `rate_limited` */
async function rejectWhileThrottled(
  { loginFailures }: Transaction,
  {
    recipient,
    sender,
    now,
    limits,
  }: { recipient: string; sender: string; now: number; limits: Limits },
): Promise<void> {
  const received = await loginFailures.since(recipient, now - limits.emailIntervalMs);
  const sent = await loginFailures.since(sender, now - limits.loginWindowMs);
  const waitMs = Math.max(
    received.count > 0 ? received.lastAt + limits.emailIntervalMs - now : 0,
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
  const [recipient, sender] = [`email-to:${email}`, `email-by:${clientNetwork(client)}`];
  const request = { recipient, sender, now, limits };
  await store.read((transaction) => rejectWhileThrottled(transaction, request));
  await begin();
  await store.write(async (transaction) => {
    const { loginFailures, outbox } = transaction;
    // Checked again: several requests may be in flight.
    await rejectWhileThrottled(transaction, request);
    await loginFailures.add(recipient, now);
    await loginFailures.add(sender, now);
    await outbox.insert({
      id: randomUUID(),
      kind: "confirmation",
      to: email,
      from: email,
      attempts: 0,
      dueAt: now,
    });
  });
  mailer.wake();
}
