import { recordSuccess } from "./login.ts";
import { tokenDigest } from "./opaque-token.ts";
import { requireGoodPassword } from "./password-rules.ts";
import { replacePassword } from "./replace-password.ts";
import { maySignUp } from "./sign-up-policy.ts";
import { clientNetwork } from "../http/client-network.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Credentials } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { openSession, type LiveSession } from "./sessions.ts";

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
  return store.read((transaction) => provenAddress(transaction, tokenDigest(token), clock.now()));
}

export interface NewPassword {
  /** Token of the email. */
  readonly token: string;
  readonly password: string;
  /** IP address of the request. */
  readonly client: string;
  /** Name of the browser. */
  readonly name: string;
}

/**
 * Creates the account of a proven email, or replaces its password and ends all its sessions and
 * tokens. All proofs of the email are used up, so that one of several concurrent requests succeeds.
 * @throws ServiceError `invalid_confirmation`; `invalid_request` for a common password;
 * `rate_limited` when the hashing queue is full
 */
export async function setPassword(
  context: VaultContext,
  { token, password, client, name }: NewPassword,
): Promise<LiveSession> {
  const { store, clock, hashing, passwords, mailer } = context;
  const digest = tokenDigest(token);
  const network = clientNetwork(client);
  const proven = await provenEmail(context, token);
  await requireGoodPassword(password, proven, "password");
  // Waits apart from the logins of the account, which need no proof.
  const passwordHash = await hashing.run({ account: `proven:${proven}`, network }, () =>
    passwords.hash(password),
  );
  const session = await store.write(async (transaction) => {
    const now = clock.now();
    const email = await provenAddress(transaction, digest, now);
    await storePassword(context, transaction, { email, passwordHash });
    await recordSuccess(transaction, email, network, now);
    return openSession(transaction, { email, name }, now);
  });
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
