import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SignUpMode } from "../../../../protocol/schemas/session.ts";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useAction } from "../../parts/use-action.ts";
import { requestPassword } from "../../service/account.ts";
import { AccountCard, AccountLinks } from "./account-card.tsx";

const words = {
  "sign-up": {
    title: "Sign up",
    lead: "Your email address identifies your account. We send you an email with a link to choose a password.",
    submit: "Send me the link",
  },
  "forgot-password": {
    title: "Forgot your password?",
    lead: "We send you an email with a link to choose a new password. The current password works until then.",
    submit: "Send me the link",
  },
} as const;

function CheckYourEmail({
  email,
  onAgain,
}: {
  readonly email: string;
  readonly onAgain: () => void;
}): VNode {
  return (
    <AccountCard title="Check your email">
      <p class="note good" role="status">
        <Icon name="mail" />
        <span>
          If <strong>{email}</strong> can have an account here, we sent it an email. Its link works
          once and expires in an hour.
        </span>
      </p>
      <p>
        No email after a few minutes? Check your spam folder and the address, or ask the operator of
        this vault.
      </p>
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
  const { title, lead, submit } = words[page];
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
      <p class="lead">{lead}</p>
      {page === "sign-up" && signUp === "invited" && (
        <p>You can sign up once a user of this vault has shared something with your address.</p>
      )}
      <Form action={action} submit={submit} icon="mail" work={work} keepsText={false}>
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
