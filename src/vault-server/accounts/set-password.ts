import { accountSubject } from "./login.ts";
import { tokenDigest } from "./opaque-token.ts";
import { hashPassword } from "./password.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import type { Transaction } from "../store/store.ts";
import { openSession, type LiveSession } from "./sessions.ts";

/** Whose proof it is. @throws ServiceError `invalid_confirmation` */
async function provenAddress({ emailProofs }: Transaction, digest: string, now: number): Promise<string> {
  const proof = await emailProofs.find(digest);
  if (proof && proof.expiresAt > now) return proof.email;
  throw errors.invalidConfirmation();
}

/**
 * Makes the account of a proven address, or replaces its password, which ends all its sessions and tokens. The proof is used up with all
 * others of the address: of several that come at once, one wins. Source: issue 4.
 * @throws ServiceError `invalid_confirmation`; `rate_limited` when too many wait for hashing
 */
export async function setPassword(context: VaultContext, token: string, password: string): Promise<LiveSession> {
  const { store, clock, hashing, passwordCost } = context;
  const digest = tokenDigest(token);
  // Hashing is dear: it is for those only who have a proof.
  await store.read((transaction) => provenAddress(transaction, digest, clock.now()));
  const passwordHash = await hashing.run(() => hashPassword(password, passwordCost));
  return store.write(async (transaction) => {
    const now = clock.now();
    const email = await provenAddress(transaction, digest, now);
    const { users, tokens, sessions, emailProofs, loginFailures } = transaction;
    await emailProofs.removeOf(email);
    if (!(await users.insert({ email, passwordHash }, now))) {
      await users.setPasswordHash({ email, passwordHash });
      await tokens.removeOf(email);
      await sessions.removeOf(email);
    }
    await loginFailures.clear(accountSubject(email));
    return openSession(transaction, email, now);
  });
}
