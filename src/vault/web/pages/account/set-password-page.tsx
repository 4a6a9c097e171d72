import type { VNode } from "preact";
import { useCallback } from "preact/hooks";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { AccountName, NewPasswordFields, readNewPassword } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { readConfirmation, setPassword, type Confirmation } from "../../service/account.ts";
import type { Session } from "../../service/responses.ts";
import { AccountCard, AccountLinks } from "./account-card.tsx";

interface SetPasswordPageProps {
  /** Token of the email's link. Empty after a reload, because it is not stored. */
  readonly token: string;
  readonly onSession: (session: Session) => void;
}

function AnotherEmail(): VNode {
  return <a href={hrefOf({ page: "forgot-password" })}>Request another email</a>;
}

function NoToken(): VNode {
  return (
    <AccountCard title="Choose a password">
      <p class="lead">
        Open this page through the link in an email from the vault. Open that link again, or request
        another email.
      </p>
      <AccountLinks>
        <li>
          <AnotherEmail />
        </li>
      </AccountLinks>
    </AccountCard>
  );
}

/**
 * Form for the password of one address. The user has to recognize the address: another user may
 * have requested the link for their own account.
 */
function PasswordForm({
  confirmation: { email, invited_by: inviters },
  token,
  onSession,
}: SetPasswordPageProps & { readonly confirmation: Confirmation }): VNode {
  const action = useAction();
  const { failure } = action;
  const work = async (form: HTMLFormElement): Promise<void> =>
    onSession(await setPassword(token, readNewPassword(form, "password")));
  return (
    <>
      {inviters.length > 0 && (
        <p class="note good">
          <Icon name="mail" />
          <span>
            <bdi>{inviters.join(", ")}</bdi> shared something with you.
          </span>
        </p>
      )}
      <p class="note">
        <Icon name="user" />
        <span>
          This sets the password of <strong class="break">{email}</strong>.
        </span>
      </p>
      <p class="lead">
        It replaces the current one, if any. Your other sessions and your API tokens end.
      </p>
      <Form action={action} submit="Set password and log in" work={work}>
        <AccountName email={email} />
        <label class="check">
          <input type="checkbox" name="own" required />
          <span>This is my email address</span>
        </label>
        <NewPasswordFields name="password" failure={failure} />
      </Form>
      {failure?.code === "invalid_confirmation" && (
        <p>
          <AnotherEmail />
        </p>
      )}
    </>
  );
}

export function SetPasswordPage({ token, onSession }: SetPasswordPageProps): VNode {
  const confirmation = useLoaded(
    useCallback(
      async () => (token === "" ? { email: "", invited_by: [] } : readConfirmation(token)),
      [token],
    ),
  );
  if (token === "") return <NoToken />;
  const { loaded } = confirmation;
  return (
    <AccountCard title="Choose a password">
      <LoadedView of={confirmation} what="your address">
        {(confirmed) => (
          <PasswordForm confirmation={confirmed} token={token} onSession={onSession} />
        )}
      </LoadedView>
      {loaded.kind === "failed" && (
        <AccountLinks>
          <li>
            <AnotherEmail />
          </li>
        </AccountLinks>
      )}
    </AccountCard>
  );
}
