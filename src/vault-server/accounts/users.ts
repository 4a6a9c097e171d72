import { randomBytes } from "node:crypto";
import { Redacted } from "../../lib/redacted.ts";
import { canonicalEmail, isEmailAddress } from "../../protocol/email-address.ts";
import { hashPassword } from "./password.ts";
import type { PasswordCost } from "../limits.ts";
import type { Store } from "../store/store.ts";

export interface NewUser {
  /** Canonical. */
  readonly email: string;
  readonly password: Redacted<string>;
}

/** @throws Error when the address is no e-mail address or has an account, or the password is empty or too long */
export async function addUser(
  store: Store,
  email: string,
  password: Redacted<string>,
  now: number,
  cost?: PasswordCost,
): Promise<NewUser> {
  if (!isEmailAddress(email)) throw new Error("that is no e-mail address");
  const length = password.reveal().length;
  if (length === 0 || length > 1024) throw new Error("a password has 1 to 1024 characters");
  const user = { email: canonicalEmail(email), passwordHash: await hashPassword(password.reveal(), cost) };
  if (!(await store.write(({ users }) => users.insert(user, now)))) throw new Error("this address has an account already");
  return { email: user.email, password };
}

/** An account with a password nobody chose, for a throw-away server. */
export function addGeneratedUser(store: Store, email: string, now: number, cost?: PasswordCost): Promise<NewUser> {
  return addUser(store, email, new Redacted(randomBytes(18).toString("base64url")), now, cost);
}
