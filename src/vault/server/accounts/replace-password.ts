import { randomUUID } from "node:crypto";
import type { Credentials } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/**
 * Replaces the password of a user: ends all sessions and tokens, invalidates the links of earlier
 * emails, and queues an email that reports the change.
 */
export async function replacePassword(
  { users, tokens, sessions, emailProofs, outbox }: Transaction,
  { email, passwordHash }: Credentials,
  now: number,
): Promise<void> {
  await users.setPasswordHash({ email, passwordHash });
  await tokens.removeOf(email);
  await sessions.removeOf(email);
  await emailProofs.removeOf(email);
  await outbox.insert({
    id: randomUUID(),
    kind: "password_changed",
    to: email,
    from: email,
    attempts: 0,
    dueAt: now,
  });
}
