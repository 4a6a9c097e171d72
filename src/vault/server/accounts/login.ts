import type { VaultContext } from "../context.ts";
import { clientNetwork } from "../http/client-network.ts";
import { knownClient, rememberClient, type LoginClient } from "./known-client.ts";
import { errors } from "../errors.ts";
import type { User, LoginFailures } from "../store/records.ts";
import type { Party, Transaction } from "../store/store.ts";
import { canonicalEmail } from "../../../protocol/email-address.ts";

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 60_000;

/**
 * Returns the time in ms until which the logins of a subject are throttled: from the `threshold`-th
 * failure within the window, 1 s after the last failure, doubled by each further failure, up to 60
 * s (docs/design/vault-contract.md#passwords-and-throttling).
 */
export function throttledUntil(failures: LoginFailures, threshold: number): number {
  if (failures.count < threshold) return 0;
  return (
    failures.lastAt +
    Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(10, failures.count - threshold))
  );
}

/**
 * Verifies, in the transaction that creates a token or session after `logIn`, that the password is
 * unchanged: setting a new one ends all tokens and sessions of the old one.
 * @throws ServiceError `invalid_credentials`
 */
export async function requireSamePassword(
  { users }: Transaction,
  { email, passwordHash }: User,
): Promise<void> {
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

/** A login of a canonical email. */
interface Attempt {
  readonly email: string;
  readonly network: string;
  readonly client: LoginClient;
  readonly subjects: Subjects;
}

/** Returns the party of a login: its network pays, and accounts in it take turns. */
function loginParty({ network, email }: Attempt): Party {
  return { account: `network:${network}`, login: email };
}

/** A login that is not throttled. */
interface Admission {
  /** The account has logged in from this network, or by this client, before. */
  readonly known: boolean;
  /** Subject of the failures of a known client. */
  readonly client: string | undefined;
  /** Only the failures of the client count. */
  readonly byClient: boolean;
}

/**
 * Rejects a login while it is throttled. The first failures of a known client (`knownClient`) count
 * alone: neither strangers nor other users can lock it out. Beyond them, or for another client, in
 * a network that the account has logged in from before, its failures in this network count.
 * Otherwise the failures of the network and the failures of the account count.
 * @throws ServiceError `rate_limited`
 */
async function admit(context: VaultContext, attempt: Attempt): Promise<Admission> {
  const { store, clock, limits } = context;
  const { subjects } = attempt;
  const now = clock.now();
  const from = now - limits.loginWindowMs;
  const { until, ...admission } = await store.read(
    async (transaction): Promise<Admission & { readonly until: number }> => {
      const { loginFailures } = transaction;
      const client = await knownClient(context, transaction, attempt, attempt.client);
      if (
        client !== undefined &&
        (await loginFailures.since(client, from)).count < limits.loginFailuresPerAccount
      )
        return { known: true, client, byClient: true, until: 0 };
      const throttled = async (subject: string, threshold: number): Promise<number> =>
        throttledUntil(await loginFailures.since(subject, from), threshold);
      const known = (await loginFailures.since(subjects.known, now)).count > 0;
      const rest = { known, client, byClient: false };
      if (known)
        return { ...rest, until: await throttled(subjects.pair, limits.loginFailuresPerAccount) };
      const ofNetwork = await throttled(subjects.network, limits.loginFailuresPerNetwork);
      return {
        ...rest,
        until: Math.max(
          ofNetwork,
          await throttled(subjects.account, limits.loginFailuresPerAccount),
        ),
      };
    },
    loginParty(attempt),
  );
  if (now < until) throw errors.tooManyLogins(until - now);
  return admission;
}

async function recordFailure(
  { store, clock }: VaultContext,
  attempt: Attempt,
  { client }: Admission,
): Promise<void> {
  const now = clock.now();
  const { account, pair, network } = attempt.subjects;
  await store.write(async ({ loginFailures }) => {
    for (const subject of [account, pair, network]) await loginFailures.add(subject, now);
    if (client !== undefined) await loginFailures.add(client, now);
  }, loginParty(attempt));
}

async function markKnown(
  { loginFailures }: Transaction,
  { known }: Subjects,
  now: number,
): Promise<void> {
  await loginFailures.clear(known);
  await loginFailures.add(known, now + KNOWN_NETWORK_MS);
}

/**
 * Clears the counts of a canonical email and makes the network known, after its password was set
 * from there.
 */
export async function recordSuccess(
  transaction: Transaction,
  email: string,
  network: string,
  now: number,
): Promise<void> {
  const subjects = subjectsOf(email, network);
  for (const subject of [subjects.account, subjects.pair])
    await transaction.loginFailures.clear(subject);
  await markKnown(transaction, subjects, now);
}

/**
 * Clears the counts that the login was admitted by, and makes its network and its client known. A
 * known client clears only its own counts: its logins give a stranger no further guesses.
 */
async function recordLogin(
  transaction: Transaction,
  attempt: Attempt,
  { client, byClient }: Admission,
  now: number,
): Promise<void> {
  if (client !== undefined) await transaction.loginFailures.clear(client);
  if (byClient) await markKnown(transaction, attempt.subjects, now);
  else await recordSuccess(transaction, attempt.email, attempt.network, now);
  await rememberClient(transaction, attempt, attempt.client, now);
}

interface VerifiedUser {
  readonly user: User;
  /** The password hash with the current cost, when the stored one is outdated. */
  readonly renewed: string | undefined;
}

/** Returns the user when the password is right and the user is not disabled. */
async function verify(
  { store, passwords }: VaultContext,
  attempt: Attempt,
  password: string,
): Promise<VerifiedUser | undefined> {
  const user = await store.readOne(({ users }) => users.find(attempt.email), loginParty(attempt));
  const { matches, renewed } = await passwords.verify(user?.passwordHash, password);
  return user && matches && !user.disabled ? { user, renewed } : undefined;
}

/**
 * Replaces an outdated password hash and returns the user as stored; `undefined` when the hash has
 * changed since it was verified.
 */
async function renew(
  { users }: Transaction,
  { user, renewed }: VerifiedUser,
): Promise<User | undefined> {
  if (renewed === undefined) return user;
  const stored = await users.find(user.email);
  if (stored?.passwordHash !== user.passwordHash) return undefined;
  const changed = { ...user, passwordHash: renewed };
  await users.setPasswordHash(changed);
  return changed;
}

/**
 * Verifies a password and returns the user. Known and unknown emails get the same response in the
 * same time, and both are throttled after failures (docs/design/security.md#account-enumeration).
 * @throws ServiceError `invalid_credentials` or `rate_limited`
 */
export async function logIn(
  context: VaultContext,
  email: string,
  password: string,
  client: LoginClient,
): Promise<User> {
  const { store } = context;
  const canonical = canonicalEmail(email);
  const network = clientNetwork(client.address);
  const attempt = { email: canonical, network, client, subjects: subjectsOf(canonical, network) };
  const { known, ...admission } = await admit(context, attempt);
  // Known clients wait apart from the other logins of the account.
  const account = (admission.byClient && admission.client) || canonical;
  return context.hashing.run({ account, network, known }, async () => {
    // Checked again: logins queued before this one may have failed by now.
    const admitted = await admit(context, attempt);
    for (;;) {
      const verified = await verify(context, attempt, password);
      if (!verified) {
        await recordFailure(context, attempt, admitted);
        throw errors.invalidCredentials();
      }
      const user = await store.write(async (transaction) => {
        await recordLogin(transaction, attempt, admitted, context.clock.now());
        return renew(transaction, verified);
      }, loginParty(attempt));
      // Verified again when another login has replaced the outdated hash.
      if (user) return user;
    }
  });
}
