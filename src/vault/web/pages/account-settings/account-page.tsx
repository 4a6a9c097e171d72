import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { listCredentials, changePassword } from "../../service/account-settings.ts";
import { useSendsEmail } from "../../parts/vault-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { BlockedSendersSection } from "./blocked-senders-section.tsx";
import { CredentialsSection } from "./credentials-section.tsx";
import { Form, formText } from "../../parts/form.tsx";
import {
  AccountName,
  PasswordField,
  NewPasswordFields,
  readNewPassword,
} from "../../parts/password-field.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { colorScheme, colorSchemes, type ColorScheme } from "../../parts/color-scheme.ts";

const labels: Readonly<Record<ColorScheme, string>> = {
  system: "System",
  light: "Light",
  dark: "Dark",
};

/** Chooses the colors of the pages. */
function ColorsSection(): VNode {
  const [chosen, setChosen] = useState(colorScheme.get);
  const choose = (scheme: ColorScheme): void => {
    colorScheme.set(scheme);
    setChosen(scheme);
  };
  return (
    <section class="card" aria-labelledby="colors-title">
      <h2 id="colors-title">Colors</h2>
      <p class="quiet">For all accounts in this browser.</p>
      <fieldset class="segments">
        <legend class="visually-hidden">Colors</legend>
        {colorSchemes.map((scheme) => (
          <label key={scheme}>
            <input
              type="radio"
              name="colors"
              checked={scheme === chosen}
              onChange={() => choose(scheme)}
            />
            <span>{labels[scheme]}</span>
          </label>
        ))}
      </fieldset>
    </section>
  );
}

/** Changes the password and so ends all other sessions and tokens. */
function PasswordSection({ onChanged }: { readonly onChanged: () => Promise<void> }): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const { failure } = action;
  const sendsEmail = useSendsEmail();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const newPassword = readNewPassword(form, "new_password");
    client.adopt(await changePassword(client, formText(form, "password"), newPassword));
    form.reset();
    toast("Changed your password.");
    await onChanged();
  };
  return (
    <section class="card" aria-labelledby="password-title">
      <h2 id="password-title">Password</h2>
      <p class="quiet">
        A new password ends your other sessions and all tokens.
        {sendsEmail && " You receive an email about it."}
      </p>
      <Form action={action} submit="Change password" variant="plain" work={work}>
        <AccountName email={client.email} />
        <PasswordField
          label="Current password"
          name="password"
          autocomplete="current-password"
          failure={failure}
        />
        <NewPasswordFields name="new_password" failure={failure} />
      </Form>
    </section>
  );
}

/** The user's own account: sessions and tokens, password, blocked senders, colors. */
export function AccountPage(): VNode {
  const client = useClient();
  const credentials = useLoaded(useCallback(() => listCredentials(client), [client]));
  const { reload } = credentials;
  useReturn(useCallback(() => void reload(), [reload]));
  return (
    <>
      <PageHeading title="Account" />
      <p class="lead break">{client.email}</p>
      <div class="columns">
        <div class="stack">
          <CredentialsSection kind="session" credentials={credentials} />
          <CredentialsSection kind="token" credentials={credentials} />
        </div>
        <div class="stack">
          <PasswordSection onChanged={reload} />
          <BlockedSendersSection />
          <ColorsSection />
        </div>
      </div>
    </>
  );
}
