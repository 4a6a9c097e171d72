import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../../lib/client-network.ts";
import { throttledUntil } from "./login-throttle.ts";
import { errors } from "../errors.ts";
import type { User } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";

/**
 * Verifies, in the transaction that creates a token or session after `logIn`, that the password is unchanged: setting a new one
 * ends all tokens and sessions of the old one.
 * @throws ServiceError `invalid_credentials`
 */
export async function requireSamePassword({ users }: Transaction, { email, passwordHash }: User): Promise<void> {
  const user = await users.find(email);
  if (!user || passwordHash === undefined || user.passwordHash !== passwordHash || user.disabled)
    throw errors.invalidCredentials();
}

/** A network from which an account has logged in is known for 90 days, in milliseconds. */
const KNOWN_NETWORK_MS = 90 * 24 * 3_600_000;

/** Subjects that the failures of one login are counted under. */
interface Subjects {
  readonly account: string;
  /** The account from this network only. */
  readonly pair: string;
  readonly network: string;
  /** Counts while the account has logged in from this network not long ago. */
  readonly known: string;
}

function subjectsOf(email: string, network: string): Subjects {
  return {
    account: `account:${email}`,
    pair: `login:${email} ${network}`,
    network: `address:${network}`,
    known: `known:${email} ${network}`,
  };
}

/**
 * Rejects a login while it is throttled, and returns whether the account has logged in from this network before. Then only its own
 * failures in this network count: neither a stranger elsewhere nor another user behind the same address can lock it out. Otherwise those
 * of the network and of the account count.
 * @throws ServiceError `rate_limited`
 */
async function rejectWhileThrottled({ store, clock, limits }: VaultContext, subjects: Subjects): Promise<boolean> {
  const now = clock.now();
  const from = now - limits.loginWindowMs;
  const { known, until } = await store.read(async ({ loginFailures }) => {
    const throttled = async (subject: string, threshold: number): Promise<number> =>
      throttledUntil(await loginFailures.since(subject, from), threshold);
    const isKnown = (await loginFailures.since(subjects.known, now)).count > 0;
    if (isKnown) return { known: true, until: await throttled(subjects.pair, limits.loginFailuresPerAccount) };
    const ofNetwork = await throttled(subjects.network, limits.loginFailuresPerNetwork);
    return { known: false, until: Math.max(ofNetwork, await throttled(subjects.account, limits.loginFailuresPerAccount)) };
  });
  if (now < until) throw errors.tooManyLogins(until - now);
  return known;
}

async function recordFailure({ store, clock }: VaultContext, { account, pair, network }: Subjects): Promise<void> {
  const now = clock.now();
  await store.write(async ({ loginFailures }) => {
    for (const subject of [account, pair, network]) await loginFailures.add(subject, now);
  });
}

/** Clears the counts of a canonical email and makes the network known, after its password was verified or set from there. */
export async function recordSuccess({ loginFailures }: Transaction, email: string, network: string, now: number): Promise<void> {
  const { account, pair, known } = subjectsOf(email, network);
  for (const subject of [account, pair, known]) await loginFailures.clear(subject);
  await loginFailures.add(known, now + KNOWN_NETWORK_MS);
}

interface VerifiedUser {
  readonly user: User;
  /** The password hash with the current cost, when the stored one is outdated. */
  readonly renewed: string | undefined;
}

/** Returns the user when the password is right and the user is not disabled. */
async function verify({ store, passwords }: VaultContext, email: string, password: string): Promise<VerifiedUser | undefined> {
  const user = await store.read(({ users }) => users.find(email));
  const { matches, renewed } = await passwords.verify(user?.passwordHash, password);
  return user && matches && !user.disabled ? { user, renewed } : undefined;
}

/** Replaces an outdated password hash and returns the user as stored; `undefined` when the hash was replaced meanwhile. */
async function renew({ users }: Transaction, { user, renewed }: VerifiedUser): Promise<User | undefined> {
  if (renewed === undefined) return user;
  const stored = await users.find(user.email);
  if (stored?.passwordHash !== user.passwordHash) return undefined;
  const changed = { ...user, passwordHash: renewed };
  await users.setPasswordHash(changed);
  return changed;
}

/**
 * Verifies a password and returns the user. Known and unknown emails get the same response in the same time, and both are
 * throttled after failures (docs/design/security.md#account-enumeration).
 * @throws ServiceError `invalid_credentials` or `rate_limited`
 */
export async function logIn(context: VaultContext, email: string, password: string, address: string): Promise<User> {
  const { store } = context;
  const canonical = canonicalEmail(email);
  const network = clientNetwork(address);
  const subjects = subjectsOf(canonical, network);
  const known = await rejectWhileThrottled(context, subjects);
  return context.hashing.run({ account: canonical, network, known }, async () => {
    // Checked again: logins queued before this one may have failed meanwhile.
    await rejectWhileThrottled(context, subjects);
    for (;;) {
      const verified = await verify(context, canonical, password);
      if (!verified) {
        await recordFailure(context, subjects);
        throw errors.invalidCredentials();
      }
      const user = await store.write(async (transaction) => {
        await recordSuccess(transaction, canonical, network, context.clock.now());
        return renew(transaction, verified);
      });
      // Verified again when another login has replaced the outdated hash meanwhile.
      if (user) return user;
    }
  });
}
