import { randomBytes } from "node:crypto";
import { Redacted } from "../../lib/redacted.ts";
import { canonicalEmail, isEmailAddress } from "../../protocol/email-address.ts";
import { hashPassword } from "./password.ts";
import type { PasswordCost } from "../limits.ts";
import type { User } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";

export interface NewUser {
  /** Canonical email. */
  readonly email: string;
  readonly password: Redacted<string>;
}

/** @throws Error */
function checkPassword(password: Redacted<string>): void {
  const { length } = password.reveal();
  if (length === 0 || length > 1024) throw new Error("invalid password: expected 1 to 1024 characters");
}

/** Adds a user. @throws Error when the email is invalid or taken, or the password is empty or too long */
export async function addUser(
  store: Store,
  email: string,
  password: Redacted<string>,
  now: number,
  cost?: PasswordCost,
): Promise<NewUser> {
  if (!isEmailAddress(email)) throw new Error("invalid email address");
  checkPassword(password);
  const user = { email: canonicalEmail(email), passwordHash: await hashPassword(password.reveal(), cost) };
  if (!(await store.write(({ users }) => users.insert(user, now)))) throw new Error("a user with this email already exists");
  return { email: user.email, password };
}

async function requireUser({ users }: Transaction, email: string): Promise<User> {
  const user = await users.find(email);
  if (!user) throw new Error("no user has this email: list them with `vaultsync vault user list`");
  return user;
}

/** Ends all sessions and tokens of a user. @throws Error when there is no such user */
export async function endCredentials(store: Store, email: string): Promise<void> {
  await store.write(async (transaction) => {
    const user = await requireUser(transaction, canonicalEmail(email));
    await transaction.tokens.removeOf(user.email);
    await transaction.sessions.removeOf(user.email);
  });
}

/** Sets a password and ends all sessions and tokens of the user. @throws Error when there is no such user or the password is invalid */
export async function replacePassword(store: Store, email: string, password: Redacted<string>): Promise<void> {
  checkPassword(password);
  const passwordHash = await hashPassword(password.reveal());
  await store.write(async (transaction) => {
    const user = await requireUser(transaction, canonicalEmail(email));
    await transaction.users.setPasswordHash({ email: user.email, passwordHash });
    await transaction.tokens.removeOf(user.email);
    await transaction.sessions.removeOf(user.email);
  });
}

/** Adds a user with a random password, for an ephemeral server. */
export function addGeneratedUser(store: Store, email: string, now: number, cost?: PasswordCost): Promise<NewUser> {
  return addUser(store, email, new Redacted(randomBytes(18).toString("base64url")), now, cost);
}
