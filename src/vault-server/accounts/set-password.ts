import { recordSuccess } from "./login.ts";
import { tokenDigest } from "./opaque-token.ts";
import { hashPassword } from "./password.ts";
import { clientNetwork } from "../../lib/client-network.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";
import { openSession, type LiveSession } from "./sessions.ts";

/** Returns the email that a proof is for. @throws ServiceError `invalid_confirmation` */
async function provenAddress({ emailProofs }: Transaction, digest: string, now: number): Promise<string> {
  const proof = await emailProofs.find(digest);
  if (proof && proof.expiresAt > now) return proof.email;
  throw errors.invalidConfirmation();
}

/** Returns the email that a token of an email proves. @throws ServiceError `invalid_confirmation` */
export function provenEmail({ store, clock }: VaultContext, token: string): Promise<string> {
  return store.read((transaction) => provenAddress(transaction, tokenDigest(token), clock.now()));
}

/**
 * Creates the account of a proven email, or replaces its password and ends all its sessions and tokens. All proofs of the email
 * are used up, so that one of several concurrent requests succeeds.
 * @throws ServiceError `invalid_confirmation`; `rate_limited` when the hashing queue is full
 */
export async function setPassword(context: VaultContext, token: string, password: string, client: string): Promise<LiveSession> {
  const { store, clock, hashing, passwordCost } = context;
  const digest = tokenDigest(token);
  const network = clientNetwork(client);
  // Waits apart from the logins of the account, which need no proof.
  const account = `proven:${await provenEmail(context, token)}`;
  const passwordHash = await hashing.run({ account, network }, () => hashPassword(password, passwordCost));
  return store.write(async (transaction) => {
    const now = clock.now();
    const email = await provenAddress(transaction, digest, now);
    const { users, tokens, sessions, emailProofs } = transaction;
    await emailProofs.removeOf(email);
    if (!(await users.insert({ email, passwordHash }, now))) {
      await users.setPasswordHash({ email, passwordHash });
      await tokens.removeOf(email);
      await sessions.removeOf(email);
    }
    await recordSuccess(transaction, email, network, now);
    return openSession(transaction, email, now);
  });
}
