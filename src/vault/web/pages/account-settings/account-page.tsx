import type { VNode } from "preact";
import { useCallback } from "preact/hooks";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { listCredentials } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { BlockedSendersSection } from "./blocked-senders-section.tsx";
import { CredentialsSection } from "./credentials-section.tsx";
import { PasswordSection } from "./password-section.tsx";

/** The user's own account: sessions and tokens, password, blocked senders. */
export function AccountPage(): VNode {
  const client = useClient();
  const credentials = useLoaded(useCallback(() => listCredentials(client), [client]));
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
          <PasswordSection onChanged={credentials.reload} />
          <BlockedSendersSection />
        </div>
      </div>
    </>
  );
}
