import type { EmailMessage } from "../store/records.ts";

/** What a letter is about by the time it is sent. `link` leads to where the reader goes on; the link of the last two works for a while only. */
export type EmailContent =
  | { readonly about: "shared-log-in"; readonly from: string; readonly link: string }
  | { readonly about: "shared-sign-up"; readonly from: string; readonly link: string }
  | { readonly about: "sign-up"; readonly link: string }
  | { readonly about: "new-password"; readonly link: string };

/** How long a link of each kind of letter proves that its reader gets mail of that address, in milliseconds. Source: issue 4. */
export const PROOF_LIFETIME_MS: Record<EmailMessage["kind"], number> = { invitation: 7 * 86_400_000, confirmation: 3_600_000 };

interface Wording {
  readonly subject: string;
  /** Before the link. */
  readonly before: string;
  /** What following the link does. */
  readonly action: string;
  readonly after: string;
}

const UNEXPECTED = "If you did not expect this, do nothing: without the link nothing happens.";

function wordingOf(content: EmailContent): Wording {
  switch (content.about) {
    case "shared-log-in":
      return {
        subject: `${content.from} shared something with you`,
        before: `${content.from} shared something with you in Vaultsync. It is there when you log in:`,
        action: "Log in",
        after: "You get this because you are not logged in anywhere.",
      };
    case "shared-sign-up":
      return {
        subject: `${content.from} shared something with you`,
        before: `${content.from} shared something with you in Vaultsync. Choose a password, and it is there:`,
        action: "Sign up",
        after: `The link works for 7 days and once; after that, sign up with this address all the same. ${UNEXPECTED}`,
      };
    case "sign-up":
      return {
        subject: "Finish signing up",
        before:
          "Somebody, hopefully you, asked for a Vaultsync account with this address. Choose a password to finish signing up:",
        action: "Finish signing up",
        after: `The link works for one hour and once. ${UNEXPECTED}`,
      };
    case "new-password":
      return {
        subject: "Set a new password",
        before: "Somebody, hopefully you, asked for a new password of your Vaultsync account:",
        action: "Set a new password",
        after: `The link works for one hour and once. Setting a new password ends all sessions and tokens of the account. ${UNEXPECTED}`,
      };
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** The words of a letter, as plain text and as HTML. They name who shared, never what. Source: issue 4. */
export function emailText(content: EmailContent): { readonly subject: string; readonly text: string; readonly html: string } {
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
