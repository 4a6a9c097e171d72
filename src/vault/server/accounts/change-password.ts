import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../http/client-network.ts";
import type { LoginClient } from "./known-client.ts";
import { logIn, requireSamePassword } from "./login.ts";
import { requireGoodPassword } from "./password-rules.ts";
import { replacePassword } from "./replace-password.ts";
import { openSession, type LiveSession } from "./sessions.ts";

export interface PasswordChange {
  readonly email: string;
  /** The current one. */
  readonly password: string;
  readonly newPassword: string;
  readonly client: LoginClient;
  /** Name of the browser. */
  readonly name: string;
}

/**
 * Replaces the password of a user who knows the current one, ends all sessions and tokens, and
 * starts a session.
 * @param begin called before the effect
 * @throws ServiceError `invalid_credentials`, `rate_limited`; `invalid_request` for a common
 * password
 */
export async function changePassword(
  context: VaultContext,
  { email, password, newPassword, client, name }: PasswordChange,
  begin: () => Promise<void>,
): Promise<LiveSession> {
  const { store, clock, hashing, passwords, mailer } = context;
  const user = await logIn(context, email, password, client);
  await requireGoodPassword(newPassword, email, "new_password");
  await begin();
  const party = { account: `proven:${email}`, network: clientNetwork(client.address) };
  const passwordHash = await hashing.run(party, () => passwords.hash(newPassword));
  const session = await store.write(async (transaction) => {
    await requireSamePassword(transaction, user);
    await replacePassword(transaction, { email, passwordHash }, clock.now());
    return openSession(transaction, { email, name }, clock.now());
  });
  mailer.wake();
  return session;
}
