import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SignUpMode } from "../../../../protocol/schemas/session.ts";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useAction } from "../../parts/use-action.ts";
import { requestPassword } from "../../service/account.ts";
import { useSendsEmail } from "../../parts/vault-settings.ts";
import { AccountCard, AccountLinks } from "./account-card.tsx";

const words = {
  "sign-up": {
    title: "Sign up",
    lead: "Your email address identifies your account.",
    link: "a link to choose a password",
    after: "",
  },
  "forgot-password": {
    title: "Forgot your password?",
    lead: "",
    link: "a link to choose a new password",
    after: " The current password works until then.",
  },
} as const;

function CheckYourEmail({
  email,
  onAgain,
}: {
  readonly email: string;
  readonly onAgain: () => void;
}): VNode {
  const sendsEmail = useSendsEmail();
  return (
    <AccountCard title={sendsEmail ? "Check your email" : "Ask for the link"}>
      <p class={sendsEmail ? "note good" : "note"} role="status">
        <Icon name="mail" />
        <span>
          {!sendsEmail && "Ask the operator of this vault for the link. "}
          If <strong>{email}</strong> can have an account here,{" "}
          {sendsEmail ? "we sent it an email. Its link" : "there is a link. It"} works once and
          expires in an hour.
        </span>
      </p>
      {sendsEmail && (
        <p>
          No email after a few minutes? Check your spam folder and the address, or ask the operator
          of this vault.
        </p>
      )}
      <AccountLinks>
        <li>
          <button class="link-button" type="button" onClick={onAgain}>
            Use another address
          </button>
        </li>
      </AccountLinks>
    </AccountCard>
  );
}

function SignUpClosed(): VNode {
  return (
    <AccountCard title="Sign up">
      <p class="lead">Accounts of this vault are created by its operator.</p>
      <AccountLinks />
    </AccountCard>
  );
}

interface RequestPasswordPageProps {
  readonly page: keyof typeof words;
  readonly signUp: SignUpMode;
}

/**
 * Page for signing up and for a forgotten password. It never reveals whether an account exists or
 * an address may sign up.
 */
export function RequestPasswordPage({ page, signUp }: RequestPasswordPageProps): VNode {
  const action = useAction();
  const [sentTo, setSentTo] = useState<string | undefined>(undefined);
  const sendsEmail = useSendsEmail();
  const { title, lead, link, after } = words[page];
  const work = async (form: HTMLFormElement): Promise<void> => {
    const email = formText(form, "email").trim();
    await requestPassword(email);
    setSentTo(email);
  };
  if (page === "sign-up" && signUp === "closed") return <SignUpClosed />;
  if (sentTo !== undefined)
    return <CheckYourEmail key="sent" email={sentTo} onAgain={() => setSentTo(undefined)} />;
  return (
    <AccountCard key="form" title={title}>
      <p class="lead">
        {lead}{" "}
        {sendsEmail
          ? `We send you an email with ${link}.`
          : `This vault sends no email: its operator gives you ${link}.`}
        {after}
      </p>
      {page === "sign-up" && signUp === "invited" && (
        <p>You can sign up once a user of this vault has shared something with your address.</p>
      )}
      <Form
        action={action}
        submit={sendsEmail ? "Send me the link" : "Request the link"}
        icon="mail"
        work={work}
        keepsText={false}
      >
        <TextField
          label="Email address"
          name="email"
          type="email"
          autocomplete="username"
          required
          failure={action.failure}
        />
      </Form>
      <AccountLinks />
    </AccountCard>
  );
}
