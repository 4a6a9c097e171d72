import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../http/client-network.ts";
import type { LoginClient } from "./known-client.ts";
import { logIn, requireSamePassword, recordSuccess } from "./login.ts";
import { requireGoodPassword } from "./password-rules.ts";
import { emailsTo } from "./request-password.ts";
import { type Browser, openSession, type LiveSession } from "./sessions.ts";
import { randomUUID } from "node:crypto";
import type { Credentials } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { tokenDigest } from "./opaque-token.ts";
import { maySignUp } from "./users.ts";
import { errors } from "../errors.ts";

export interface PasswordChange {
  readonly email: string;
  /** The current one. */
  readonly password: string;
  readonly newPassword: string;
  readonly client: LoginClient;
  readonly browser: Browser;
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
  { email, password, newPassword, client, browser }: PasswordChange,
  begin: () => Promise<void>,
): Promise<LiveSession> {
  const { store, clock, hashing, passwords, mailer } = context;
  const user = await logIn(context, email, password, client);
  await requireGoodPassword(newPassword, email, "new_password");
  await begin();
  const party = { account: `proven:${email}`, network: clientNetwork(client.address) };
  const passwordHash = await hashing.run(party, () => passwords.hash(newPassword));
  const session = await store.write(
    async (transaction) => {
      await requireSamePassword(transaction, user);
      await replacePassword(transaction, { email, passwordHash }, clock.now());
      return openSession(transaction, email, browser, clock.now());
    },
    { account: email },
  );
  mailer.wake();
  return session;
}

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

/** Returns the email that a proof is for. @throws ServiceError `invalid_confirmation` */
async function provenAddress(
  { emailProofs }: Transaction,
  digest: string,
  now: number,
): Promise<string> {
  const proof = await emailProofs.find(digest);
  if (proof && proof.expiresAt > now) return proof.email;
  throw errors.invalidConfirmation();
}

/**
 * Returns the email that a token of an email proves. @throws ServiceError `invalid_confirmation`
 */
export function provenEmail({ store, clock }: VaultContext, token: string): Promise<string> {
  const digest = tokenDigest(token);
  return store.read((transaction) => provenAddress(transaction, digest, clock.now()), {
    account: digest,
  });
}

interface NewPassword {
  /** Token of the email. */
  readonly token: string;
  readonly password: string;
  /** IP address of the request. */
  readonly client: string;
  readonly browser: Browser;
}

/**
 * Creates the account of a proven email, or replaces its password and ends all its sessions and
 * tokens; starts a session. Uses up all proofs of the email: of several concurrent requests, one succeeds.
 * @throws ServiceError `invalid_confirmation`; `invalid_request` for a common password;
 * `rate_limited` when the hashing queue is full
 */
export async function setPassword(
  context: VaultContext,
  { token, password, client, browser }: NewPassword,
): Promise<LiveSession> {
  const { store, clock, hashing, passwords, mailer } = context;
  const digest = tokenDigest(token);
  const network = clientNetwork(client);
  const proven = await provenEmail(context, token);
  await requireGoodPassword(password, proven, "password");
  // Waits apart from the logins of the account: a login needs no proof.
  const passwordHash = await hashing.run({ account: `proven:${proven}`, network }, () =>
    passwords.hash(password),
  );
  const session = await store.write(
    async (transaction) => {
      const now = clock.now();
      const email = await provenAddress(transaction, digest, now);
      await storePassword(context, transaction, { email, passwordHash });
      await recordSuccess(transaction, email, network, now);
      await transaction.loginFailures.clear(emailsTo(email));
      return openSession(transaction, email, browser, now);
    },
    { account: proven },
  );
  mailer.wake();
  return session;
}

/**
 * Creates an account, or replaces its password. All proofs of the email are used up.
 * @throws ServiceError `invalid_confirmation` when the user is disabled or the address may not sign
 * up any more
 */
async function storePassword(
  { clock, signUp }: VaultContext,
  transaction: Transaction,
  credentials: Credentials,
): Promise<void> {
  const { users, emailProofs } = transaction;
  const user = await users.find(credentials.email);
  if (user?.disabled === true) throw errors.invalidConfirmation();
  if (user) return replacePassword(transaction, credentials, clock.now());
  if (!(await maySignUp(transaction, credentials.email, signUp)))
    throw errors.invalidConfirmation();
  await emailProofs.removeOf(credentials.email);
  await users.insert(credentials, clock.now());
}
