import { randomUUID } from "node:crypto";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

const RETRY_AFTER_MS = 60_000;

/**
 * Queues an email with a link for setting the password of this canonical email. Response and work are the same with and without
 * an account.
 * @param client IP address of the request
 * @throws ServiceError `rate_limited` when too many emails were requested for this recipient or by this client
 */
export async function requestPassword(
  { store, clock, limits, mailer }: VaultContext,
  email: string,
  client: string,
): Promise<void> {
  const now = clock.now();
  const [recipient, sender] = [`email-to:${email}`, `email-by:${client}`];
  await store.write(async ({ loginFailures, outbox }) => {
    const received = await loginFailures.since(recipient, now - limits.emailIntervalMs);
    const sent = await loginFailures.since(sender, now - limits.loginWindowMs);
    const waitMs = Math.max(
      received.count > 0 ? received.lastAt + limits.emailIntervalMs - now : 0,
      sent.count >= limits.emailsPerAddress ? RETRY_AFTER_MS : 0,
    );
    if (waitMs > 0) throw errors.tooManyEmails(waitMs);
    await loginFailures.add(recipient, now);
    await loginFailures.add(sender, now);
    await outbox.insert({ id: randomUUID(), kind: "confirmation", to: email, from: email, attempts: 0, dueAt: now });
  });
  mailer.wake();
}
