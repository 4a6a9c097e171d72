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

/** Returns the subject under which failed logins of an account are counted. */
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
 * Verifies a password and returns the user. Known and unknown emails get the same response in the same time, and both are
 * throttled after failures (docs/design/security.md#account-enumeration).
 * @throws ServiceError `invalid_credentials` or `rate_limited`
 */
export async function logIn(context: VaultContext, email: string, password: string, address: string): Promise<User> {
  const { store, clock } = context;
  const canonical = canonicalEmail(email);
  const subjects = { account: accountSubject(canonical), address: `address:${clientNetwork(address)}` };
  await rejectWhileThrottled(context, subjects);
  return context.hashing.run(async () => {
    // Checked again: logins queued before this one may have failed meanwhile.
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
