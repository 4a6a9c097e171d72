import { isIP } from "node:net";
import { maySignUp } from "../accounts/users.ts";
import type { SignUpPolicy } from "../context.ts";
import { newToken, tokenDigest } from "../accounts/opaque-token.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { emailText, PROOF_LIFETIME_MS, type EmailContent } from "./email-text.ts";
import type { ComposedEmail } from "./email-transport.ts";

/** Properties of the server that all emails depend on. */
export interface SenderIdentity {
  /** Origin of the web application, without a trailing slash. */
  readonly appUrl: string;
  readonly from: string;
  readonly signUp: SignUpPolicy;
}

/**
 * Returns the host name for the default sender and for message ids: the host of `appUrl`, or
 * `localhost` for an IP address.
 */
export function mailDomain(appUrl: string): string {
  const { hostname } = new URL(appUrl);
  return isIP(hostname) !== 0 || hostname.startsWith("[") ? "localhost" : hostname;
}

/**
 * Stores a new proof of the recipient's address by its digest, and returns a link with it in the
 * fragment: no server logs fragments.
 */
async function proofLink(
  { emailProofs }: Transaction,
  { kind, to }: { readonly kind: keyof typeof PROOF_LIFETIME_MS; readonly to: string },
  { appUrl }: SenderIdentity,
  now: number,
): Promise<string> {
  const token = newToken();
  await emailProofs.insert({
    digest: tokenDigest(token),
    email: to,
    expiresAt: now + PROOF_LIFETIME_MS[kind],
  });
  return `${appUrl}/#/set-password?token=${token}`;
}

/** Returns the content of an email to a user. */
async function contentForUser(
  transaction: Transaction,
  { kind, to, from }: EmailMessage,
  identity: SenderIdentity,
  now: number,
): Promise<EmailContent | undefined> {
  switch (kind) {
    case "invitation":
      if (await transaction.blockedSenders.has(to, from)) return undefined;
      return { about: "shared-login", from, link: `${identity.appUrl}/#/login` };
    case "confirmation":
      return {
        about: "new-password",
        link: await proofLink(transaction, { kind, to }, identity, now),
      };
    case "password_changed":
      return { about: "password-changed", link: `${identity.appUrl}/#/forgot-password` };
  }
}

/** Returns the content of an email to an address without an account. */
async function contentForStranger(
  transaction: Transaction,
  { kind, to, from }: EmailMessage,
  identity: SenderIdentity,
  now: number,
): Promise<EmailContent | undefined> {
  if (kind === "password_changed" || !(await maySignUp(transaction, to, identity.signUp)))
    return undefined;
  const link = await proofLink(transaction, { kind, to }, identity, now);
  return kind === "invitation"
    ? { about: "shared-sign-up", from, link }
    : { about: "sign-up", link };
}

/**
 * Composes an email. Whether there is one, and its text, depend on the recipient's account at this
 * time: no request that queues an email reveals by its response or duration who may receive it.
 * Returns `undefined` when there is none.
 */
export async function composeEmail(
  transaction: Transaction,
  message: EmailMessage,
  identity: SenderIdentity,
  now: number,
): Promise<ComposedEmail | undefined> {
  const { appUrl, from } = identity;
  const user = await transaction.users.find(message.to);
  const compose = user ? contentForUser : contentForStranger;
  const content =
    user?.disabled === true ? undefined : await compose(transaction, message, identity, now);
  if (!content) return undefined;
  const text = emailText(content);
  return {
    name: `${message.kind}-${message.id}`,
    from,
    to: message.to,
    ...text,
    messageId: `<${message.id}@${mailDomain(appUrl)}>`,
    date: new Date(now),
  };
}
