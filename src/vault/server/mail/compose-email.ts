import { isIP } from "node:net";
import { maySignUp } from "../accounts/users.ts";
import type { SignUpPolicy } from "../context.ts";
import { newToken, tokenDigest } from "../accounts/opaque-token.ts";
import type { EmailMessage } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import type { ComposedEmail } from "./email-transport.ts";

/**
 * Content of an email at the time of sending. `link` is the page to open next; the links of all but
 * `shared-login` and `password-changed` expire.
 */
type EmailContent =
  | { readonly about: "shared-login"; readonly from: string; readonly link: string }
  | { readonly about: "shared-sign-up"; readonly from: string; readonly link: string }
  | { readonly about: "sign-up"; readonly link: string }
  | { readonly about: "new-password"; readonly link: string }
  | { readonly about: "password-changed"; readonly link: string };

/** Lifetime of the proof in an email's link, in milliseconds, by the kind of the email. */
const PROOF_LIFETIME_MS = { invitation: 7 * 86_400_000, confirmation: 3_600_000 } as const;

/** Time after which the links of all emails have expired, in milliseconds. */
export const LONGEST_PROOF_MS = Math.max(...Object.values(PROOF_LIFETIME_MS));

interface EmailWording {
  readonly subject: string;
  /** Text before the link. */
  readonly before: string;
  /** Label of the link. */
  readonly action: string;
  readonly after: string;
}

/** Without the sender, whom a reader would trust more there. */
const SHARED = "Something was shared with you";
const UNEXPECTED = "If you did not expect this email, you can ignore it.";

function wordingOf(content: EmailContent): EmailWording {
  switch (content.about) {
    case "shared-login":
      return {
        subject: SHARED,
        before: `${content.from} shared something with you in Vaultsync. To see it, log in:`,
        action: "Log in",
        after: "You receive this email because you are not logged in.",
      };
    case "shared-sign-up":
      return {
        subject: SHARED,
        before: `${content.from} shared something with you in Vaultsync. To see it, choose a password:`,
        action: "Sign up",
        after: `The link expires after 7 days and works once. You can also sign up later with this address. ${UNEXPECTED}`,
      };
    case "sign-up":
      return {
        subject: "Finish signing up",
        before:
          "A Vaultsync account was requested for this address. Choose a password to finish signing up:",
        action: "Finish signing up",
        after: `The link expires after one hour and works once. ${UNEXPECTED}`,
      };
    case "new-password":
      return {
        subject: "Set a new password",
        before: "A new password was requested for your Vaultsync account:",
        action: "Set a new password",
        after: `The link expires after one hour and works once. A new password ends all sessions and tokens of the account. ${UNEXPECTED}`,
      };
    case "password-changed":
      return {
        subject: "Your password was changed",
        before:
          "The password of your Vaultsync account was changed, which ended its sessions and tokens. If you did not do this, set a new one:",
        action: "Set a new password",
        after:
          "Then tell the operator of the server. If you changed the password, nothing is left to do.",
      };
  }
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * Returns the subject and the text of an email, plain and as HTML. They name who shared, never
 * what, because email is not confidential.
 */
export function emailText(content: EmailContent): {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
} {
  const { subject, before, action, after } = wordingOf(content);
  const paragraphs = [
    escapeHtml(before),
    `<a href="${escapeHtml(content.link)}">${escapeHtml(action)}</a>`,
    escapeHtml(after),
  ].map((inner) => `<p>${inner}</p>`);
  return {
    subject,
    text: `${before}\n\n${content.link}\n\n${after}\n`,
    html: `<!doctype html>\n<html lang="en">\n<body>\n${paragraphs.join("\n")}\n</body>\n</html>\n`,
  };
}

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
