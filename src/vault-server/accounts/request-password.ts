import { randomUUID } from "node:crypto";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

const SOON_MS = 60_000;

/**
 * Sends a letter with a link for setting the password of this (canonical) address. Whether it has an account makes no difference here,
 * neither to the answer nor to the work. `client` is the address on the network that asks.
 * @throws ServiceError `rate_limited` when too many letters were asked for, to this recipient or by this client, whoever they are
 */
export async function requestPassword(
  { store, clock, limits, mailer }: VaultContext,
  email: string,
  client: string,
): Promise<void> {
  const now = clock.now();
  const [recipient, sender] = [`letter-to:${email}`, `letter-by:${client}`];
  await store.write(async ({ loginFailures, outbox }) => {
    const received = await loginFailures.since(recipient, now - limits.emailIntervalMs);
    const sent = await loginFailures.since(sender, now - limits.loginWindowMs);
    const waitMs = Math.max(
      received.count > 0 ? received.lastAt + limits.emailIntervalMs - now : 0,
      sent.count >= limits.emailsPerAddress ? SOON_MS : 0,
    );
    if (waitMs > 0) throw errors.tooManyEmails(waitMs);
    await loginFailures.add(recipient, now);
    await loginFailures.add(sender, now);
    await outbox.insert({ id: randomUUID(), kind: "confirmation", to: email, from: email, attempts: 0, dueAt: now });
  });
  mailer.wake();
}
