import type { VNode } from "preact";
import type { SignUpMode } from "../../../../protocol/schemas/session.ts";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { logIn } from "../../service/account.ts";
import type { Session } from "../../service/responses.ts";
import { AccountCard } from "./account-card.tsx";

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
