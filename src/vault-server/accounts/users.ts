import { randomBytes } from "node:crypto";
import { Redacted } from "../../lib/redacted.ts";
import { canonicalEmail, isEmailAddress } from "../../protocol/email-address.ts";
import { hashPassword } from "./password.ts";
import type { PasswordCost } from "../limits.ts";
import type { Store } from "../store/store.ts";

export interface NewUser {
  /** Canonical email. */
  readonly email: string;
  readonly password: Redacted<string>;
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
  const length = password.reveal().length;
  if (length === 0 || length > 1024) throw new Error("invalid password: expected 1 to 1024 characters");
  const user = { email: canonicalEmail(email), passwordHash: await hashPassword(password.reveal(), cost) };
  if (!(await store.write(({ users }) => users.insert(user, now)))) throw new Error("a user with this email already exists");
  return { email: user.email, password };
}

/** Adds a user with a random password, for an ephemeral server. */
export function addGeneratedUser(store: Store, email: string, now: number, cost?: PasswordCost): Promise<NewUser> {
  return addUser(store, email, new Redacted(randomBytes(18).toString("base64url")), now, cost);
}
