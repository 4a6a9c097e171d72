import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../../lib/client-network.ts";
import { throttledUntil } from "./login-throttle.ts";
import { errors } from "../errors.ts";
import type { User } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { verifyPassword } from "./password.ts";

/**
 * Verifies, in the transaction that creates a token or session after `logIn`, that the password is unchanged: setting a new one
 * ends all tokens and sessions of the old one.
 * @throws ServiceError `invalid_credentials`
 */
export async function requireSamePassword({ users }: Transaction, { email, passwordHash }: User): Promise<void> {
  if ((await users.find(email))?.passwordHash !== passwordHash) throw errors.invalidCredentials();
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
 * Rejects a login while its network, or its account from this network, is throttled. The failures of other networks throttle only
 * networks that the account has not logged in from, so that a stranger cannot lock its owner out.
 * @throws ServiceError `rate_limited`
 */
async function rejectWhileThrottled({ store, clock, limits }: VaultContext, subjects: Subjects): Promise<void> {
  const now = clock.now();
  const from = now - limits.loginWindowMs;
  const until = await store.read(async ({ loginFailures }) => {
    const throttled = async (subject: string, threshold: number): Promise<number> =>
      throttledUntil(await loginFailures.since(subject, from), threshold);
    const known = (await loginFailures.since(subjects.known, now)).count > 0;
    return Math.max(
      await throttled(subjects.network, limits.loginFailuresPerNetwork),
      await throttled(known ? subjects.pair : subjects.account, limits.loginFailuresPerAccount),
    );
  });
  if (now < until) throw errors.tooManyLogins(until - now);
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
  await rejectWhileThrottled(context, subjects);
  return context.hashing.run({ account: canonical, network }, async () => {
    // Checked again: logins queued before this one may have failed meanwhile.
    await rejectWhileThrottled(context, subjects);
    const user = await store.read(({ users }) => users.find(canonical));
    const matches = await verifyPassword(user?.passwordHash ?? context.unmatchableHash, password);
    if (!user || !matches) {
      await recordFailure(context, subjects);
      throw errors.invalidCredentials();
    }
    await store.write((transaction) => recordSuccess(transaction, canonical, network, context.clock.now()));
    return user;
  });
}
