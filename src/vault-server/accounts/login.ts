import type { VaultContext } from "../context.ts";
import { throttledUntil } from "./login-throttle.ts";
import { errors } from "../errors.ts";
import type { User } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { verifyPassword } from "./password.ts";

/**
 * Part of the transaction that makes a token or a session for whom `logIn` let in: their password may have been replaced meanwhile, which
 * ends everything that the old one gave. @throws ServiceError `invalid_credentials`
 */
export async function requireSamePassword({ users }: Transaction, { email, passwordHash }: User): Promise<void> {
  if ((await users.find(email))?.passwordHash !== passwordHash) throw errors.invalidCredentials();
}

/** What log-ins of an account are counted under. */
export function accountSubject(email: string): string {
  return `account:${email}`;
}

interface Subjects {
  readonly account: string;
  readonly address: string;
}

async function rejectWhileThrottled({ store, clock, limits }: VaultContext, { account, address }: Subjects): Promise<void> {
  const now = clock.now();
  const from = now - limits.loginWindowMs;
  const until = await store.read(async ({ loginFailures }) =>
    Math.max(
      throttledUntil(await loginFailures.since(account, from), limits.loginFailuresPerAccount),
      throttledUntil(await loginFailures.since(address, from), limits.loginFailuresPerAddress),
    ),
  );
  if (now < until) throw errors.tooManyLogins(until - now);
}

/**
 * Checks a password and answers the account. Known and unknown accounts get the same answers in the same time, and
 * both are slowed after failures. Source: the vault contract, "Fine print"; design, "security", "enumeration" and "lockout".
 * @throws ServiceError `invalid_credentials` or `rate_limited`
 */
export async function logIn(context: VaultContext, email: string, password: string, address: string): Promise<User> {
  const { store, clock } = context;
  const canonical = canonicalEmail(email);
  const subjects = { account: accountSubject(canonical), address: `address:${address}` };
  await rejectWhileThrottled(context, subjects);
  return context.hashing.run(async () => {
    // Again: those that waited for hashing in front of this one may have failed meanwhile.
    await rejectWhileThrottled(context, subjects);
    const user = await store.read(({ users }) => users.find(canonical));
    const matches = await verifyPassword(user?.passwordHash ?? context.unmatchableHash, password);
    if (!user || !matches) {
      const now = clock.now();
      await store.write(async ({ loginFailures }) => {
        await loginFailures.add(subjects.account, now);
        await loginFailures.add(subjects.address, now);
      });
      throw errors.invalidCredentials();
    }
    await store.write(({ loginFailures }) => loginFailures.clear(subjects.account));
    return user;
  });
}
