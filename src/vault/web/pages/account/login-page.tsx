import type { VNode } from "preact";
import { DialogFrame } from "../../parts/dialog.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { TextField } from "../../parts/field.tsx";
import { useAction } from "../../parts/use-action.ts";
import { logIn } from "../../service/account.ts";
import type { Session } from "../../service/responses.ts";
import type { SignUpMode } from "../../../../protocol/schemas/session.ts";
import { Icon } from "../../parts/icon.tsx";
import { hrefOf } from "../../routing/route.ts";
import type { Pause } from "../../session/session-keeper.ts";
import { AccountCard } from "./account-card.tsx";

interface LogInAgainDialogProps {
  readonly reason: Pause;
  readonly email: string;
  readonly onSession: (session: Session) => void;
  /** Closes the pages. */
  readonly onLeave: () => void;
}

const pauses: Readonly<Record<Pause, { readonly title: string; readonly text: string }>> = {
  ended: { title: "Your session has ended", text: "Log in again to continue." },
  locked: {
    title: "Locked",
    text: "These pages were not used for 15 minutes, so you were logged out. Log in to continue.",
  },
};

/**
 * Login over a page whose session has ended. The page stays behind the dialog with the typed text,
 * and then continues.
 */
export function LogInAgainDialog({
  reason,
  email,
  onSession,
  onLeave,
}: LogInAgainDialogProps): VNode {
  const { title, text } = pauses[reason];
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> =>
    onSession(await logIn(email, formText(form, "password")));
  return (
    <DialogFrame title={title} onEscape={() => undefined} veiled>
      <div class="form">
        <p>{text} What you entered on this page is still there.</p>
        <Form action={action} submit="Log in" work={work} keepsText={false}>
          <TextField
            label="Email address"
            name="email"
            type="email"
            autocomplete="username"
            readOnly
            defaultValue={email}
          />
          <PasswordField
            label="Password"
            name="password"
            autocomplete="current-password"
            autofocus
            failure={action.failure}
          />
        </Form>
        <p>
          <button class="link-button" type="button" onClick={onLeave}>
            Log in as another user
          </button>
        </p>
      </div>
    </DialogFrame>
  );
}

interface LoginPageProps {
  readonly notice: string | undefined;
  readonly signUp: SignUpMode;
  readonly onSession: (session: Session) => void;
}

export function LoginPage({ notice, signUp, onSession }: LoginPageProps): VNode {
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> =>
    onSession(await logIn(formText(form, "email").trim(), formText(form, "password")));
  return (
    <AccountCard title="Log in">
      <div role="status">
        {notice !== undefined && (
          <p class="note">
            <Icon name="clock" />
            <span>{notice}</span>
          </p>
        )}
      </div>
      <Form action={action} submit="Log in" work={work} keepsText={false}>
        <TextField
          label="Email address"
          name="email"
          type="email"
          autocomplete="username"
          required
          autofocus
        />
        <PasswordField label="Password" name="password" autocomplete="current-password" />
      </Form>
      <ul class="account-links">
        {signUp !== "closed" && (
          <li>
            <a href={hrefOf({ page: "sign-up" })}>Sign up</a>
          </li>
        )}
        <li>
          <a href={hrefOf({ page: "forgot-password" })}>Forgot your password?</a>
        </li>
      </ul>
    </AccountCard>
  );
}
