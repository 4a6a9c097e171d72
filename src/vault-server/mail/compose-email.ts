import { isIP } from "node:net";
import { newToken, tokenDigest } from "../accounts/opaque-token.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { emailText, PROOF_LIFETIME_MS, type EmailContent } from "./email-text.ts";
import type { ComposedEmail } from "./email-transport.ts";

/** What a letter's message is made of besides the letter. */
export interface SenderIdentity {
  /** Of the web application, without a slash at the end. */
  readonly appUrl: string;
  readonly from: string;
}

/** The host name mail is from when nothing else is said; an IP address is none. */
export function mailDomain(appUrl: string): string {
  const { hostname } = new URL(appUrl);
  return isIP(hostname) !== 0 || hostname.startsWith("[") ? "localhost" : hostname;
}

/** Keeps a new proof of the letter's recipient, by its digest, and answers the link that carries it, where no server logs it. */
async function proofLink({ emailProofs }: Transaction, { kind, to }: EmailMessage, appUrl: string, now: number): Promise<string> {
  const token = newToken();
  await emailProofs.insert({ digest: tokenDigest(token), email: to, expiresAt: now + PROOF_LIFETIME_MS[kind] });
  return `${appUrl}/#/set-password?token=${token}`;
}

async function contentOf(transaction: Transaction, letter: EmailMessage, appUrl: string, now: number): Promise<EmailContent> {
  const account = await transaction.users.find(letter.to);
  switch (letter.kind) {
    case "invitation":
      return account
        ? { about: "shared-log-in", from: letter.from, link: `${appUrl}/#/login` }
        : { about: "shared-sign-up", from: letter.from, link: await proofLink(transaction, letter, appUrl, now) };
    case "confirmation":
      return { about: account ? "new-password" : "sign-up", link: await proofLink(transaction, letter, appUrl, now) };
  }
}

/** The message of a letter as things stand now: who has an account by now is told something else than who has none. */
export async function composeEmail(
  transaction: Transaction,
  letter: EmailMessage,
  { appUrl, from }: SenderIdentity,
  now: number,
): Promise<ComposedEmail> {
  const words = emailText(await contentOf(transaction, letter, appUrl, now));
  return {
    name: `${letter.kind}-${letter.id}`,
    from,
    to: letter.to,
    ...words,
    messageId: `<${letter.id}@${mailDomain(appUrl)}>`,
    date: new Date(now),
  };
}
