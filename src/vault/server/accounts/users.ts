import { randomBytes } from "node:crypto";
import { Redacted } from "../../../lib/redacted.ts";
import { canonicalEmail, isEmailAddress } from "../../../protocol/email-address.ts";
import type { PasswordCost } from "../limits.ts";
import type { Credentials } from "../store/records.ts";
import type { Store, Transaction } from "../store/store.ts";
import { hashPassword } from "./password-hasher.ts";
import type { SignUpPolicy } from "../context.ts";

export interface NewUser {
  /** Canonical email. */
  readonly email: string;
  readonly password: Redacted<string>;
}

/** Returns what an account starts with. @throws Error when the email is invalid */
export async function newCredentials(
  email: string,
  password: Redacted<string>,
  cost: PasswordCost,
): Promise<Credentials> {
  if (!isEmailAddress(email)) throw new Error("invalid email address");
  return {
    email: canonicalEmail(email),
    passwordHash: await hashPassword(password.reveal(), cost),
  };
}

/** @throws Error when the email is taken */
export async function insertUser(
  { users }: Transaction,
  credentials: Credentials,
  now: number,
): Promise<void> {
  if (!(await users.insert(credentials, now)))
    throw new Error("a user with this email already exists");
}

/** Adds a user with any password. @throws Error when the email is invalid or taken */
export async function addUser(
  store: Store,
  email: string,
  password: Redacted<string>,
  now: number,
  cost: PasswordCost,
): Promise<NewUser> {
  const credentials = await newCredentials(email, password, cost);
  await store.write((transaction) => insertUser(transaction, credentials, now));
  return { email: credentials.email, password };
}

/**
 * Adds a user with a random password, for an ephemeral server. @throws Error when the email is
 * invalid or taken
 */
export function addGeneratedUser(
  store: Store,
  email: string,
  now: number,
  cost: PasswordCost,
): Promise<NewUser> {
  return addUser(store, email, new Redacted(randomBytes(18).toString("base64url")), now, cost);
}

/** Reports whether an address without an account may get one. */
export async function maySignUp(
  { grants }: Transaction,
  email: string,
  { mode, domains }: SignUpPolicy,
): Promise<boolean> {
  if (mode === "closed") return false;
  if (domains && !domains.includes(email.slice(email.lastIndexOf("@") + 1))) return false;
  return mode === "open" || grants.isInvited(email);
}
