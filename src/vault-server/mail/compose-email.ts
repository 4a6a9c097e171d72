import { isIP } from "node:net";
import { newToken, tokenDigest } from "../accounts/opaque-token.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { emailText, PROOF_LIFETIME_MS, type EmailContent } from "./email-text.ts";
import type { ComposedEmail } from "./email-transport.ts";

/** Sender and origin that all emails share. */
export interface SenderIdentity {
  /** Origin of the web application, without a trailing slash. */
  readonly appUrl: string;
  readonly from: string;
}

/** Returns the host name for the default sender and for message ids: that of `appUrl`, or `localhost` for an IP address. */
export function mailDomain(appUrl: string): string {
  const { hostname } = new URL(appUrl);
  return isIP(hostname) !== 0 || hostname.startsWith("[") ? "localhost" : hostname;
}

/**
 * Stores a new proof of the recipient's address by its digest, and returns a link with it in the fragment, which no server logs.
 */
async function proofLink({ emailProofs }: Transaction, { kind, to }: EmailMessage, appUrl: string, now: number): Promise<string> {
  const token = newToken();
  await emailProofs.insert({ digest: tokenDigest(token), email: to, expiresAt: now + PROOF_LIFETIME_MS[kind] });
  return `${appUrl}/#/set-password?token=${token}`;
}

async function contentOf(transaction: Transaction, message: EmailMessage, appUrl: string, now: number): Promise<EmailContent> {
  const account = await transaction.users.find(message.to);
  switch (message.kind) {
    case "invitation":
      return account
        ? { about: "shared-login", from: message.from, link: `${appUrl}/#/login` }
        : { about: "shared-sign-up", from: message.from, link: await proofLink(transaction, message, appUrl, now) };
    case "confirmation":
      return { about: account ? "new-password" : "sign-up", link: await proofLink(transaction, message, appUrl, now) };
  }
}

/** Composes an email. Its text depends on whether the recipient has an account at this time. */
export async function composeEmail(
  transaction: Transaction,
  message: EmailMessage,
  { appUrl, from }: SenderIdentity,
  now: number,
): Promise<ComposedEmail> {
  const text = emailText(await contentOf(transaction, message, appUrl, now));
  return {
    name: `${message.kind}-${message.id}`,
    from,
    to: message.to,
    ...text,
    messageId: `<${message.id}@${mailDomain(appUrl)}>`,
    date: new Date(now),
  };
}
