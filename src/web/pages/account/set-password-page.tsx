import type { VNode } from "preact";
import { TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { setPassword } from "../../service/account.ts";
import type { Session } from "../../service/responses.ts";
import { RequestError } from "../../service/request-error.ts";
import { AccountCard } from "./account-card.tsx";
import { AccountLinks } from "./account-links.tsx";

interface SetPasswordPageProps {
  /** Token of the email's link. Empty after a reload, because it is not stored. */
  readonly token: string;
  readonly onSession: (session: Session) => void;
}

const passwordMismatch = (): RequestError =>
  new RequestError("invalid_request", "The passwords do not match.", 0, [{ path: "again", reason: "does not match" }]);

function NoToken(): VNode {
  return (
    <AccountCard title="Choose a password">
      <p class="lead">
        Open this page through the link in an email from the vault. Open that link again, or request another email.
      </p>
      <AccountLinks>
        <li>
          <a href={hrefOf({ page: "forgot-password" })}>Request another email</a>
        </li>
      </AccountLinks>
    </AccountCard>
  );
}

export function SetPasswordPage({ token, onSession }: SetPasswordPageProps): VNode {
  const action = useAction();
  const { failure } = action;
  const work = async (form: HTMLFormElement): Promise<void> => {
    const password = formText(form, "password");
    if (password !== formText(form, "again")) throw passwordMismatch();
    onSession(await setPassword(token, password));
  };
  if (token === "") return <NoToken />;
  return (
    <AccountCard title="Choose a password">
      <p class="lead">This password replaces the current one, if any. Your other sessions and your API tokens end.</p>
      <Form action={action} submit="Set password and log in" work={work}>
        <TextField
          label="New password"
          name="password"
          type="password"
          autocomplete="new-password"
          required
          minLength={12}
          maxLength={1024}
          hint="At least 12 characters. A few random words are easier to remember than a short, complex password."
          failure={failure}
        />
        <TextField label="Confirm password" name="again" type="password" autocomplete="new-password" required failure={failure} />
      </Form>
      {failure?.code === "invalid_confirmation" && (
        <p>
          <a href={hrefOf({ page: "forgot-password" })}>Request another email</a>
        </p>
      )}
    </AccountCard>
  );
}
