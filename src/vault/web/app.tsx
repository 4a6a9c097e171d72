import type { VNode } from "preact";
import { DiscardQuestion } from "./parts/dialog.tsx";
import { FailureNote } from "./parts/notes.tsx";
import { Toasts } from "./parts/toasts.tsx";
import { LogInAgainDialog, LoginPage } from "./pages/account/login-page.tsx";
import { RequestPasswordPage } from "./pages/account/request-password-page.tsx";
import { SetPasswordPage } from "./pages/account/set-password-page.tsx";
import { Layout } from "./layout.tsx";
import type { Route } from "./routing/route.ts";
import { replaceRoute, navigate, useRoute } from "./routing/use-route.ts";
import type { Session } from "./service/responses.ts";
import type { VaultClient } from "./service/vault-client.ts";
import { SendsEmailProvider, TrashDaysProvider } from "./parts/vault-settings.ts";
import { useLock } from "./session/use-lock.ts";
import { useSession, type SessionControl, announce } from "./session/use-session.ts";
import { SignedInPages } from "./signed-in-pages.tsx";

/**
 * Pages without a login. A page that requires one shows the login page first, and itself
 * afterwards.
 */
function AccountPages({
  route,
  notice,
  control,
}: {
  readonly route: Route;
  readonly notice: string | undefined;
  readonly control: SessionControl;
}): VNode {
  switch (route.page) {
    case "sign-up":
    case "forgot-password":
      return <RequestPasswordPage key={route.page} page={route.page} signUp={control.signUp} />;
    default:
      return (
        <LoginPage key="login" notice={notice} signUp={control.signUp} onSession={control.start} />
      );
  }
}

/**
 * Ends the session in the vault, then in all tabs. @throws RequestError while the session continues
 */
async function logOut(client: VaultClient, control: SessionControl): Promise<void> {
  await client.logOut();
  announce("logged-out");
  control.end();
  navigate({ page: "login" });
}

function Content({
  route,
  control,
}: {
  readonly route: Route;
  readonly control: SessionControl;
}): VNode {
  const { state } = control;
  if (route.page === "set-password") {
    const onSession = (session: Session): void => {
      control.start(session);
      replaceRoute({ page: "secrets" });
    };
    return <SetPasswordPage key={route.token} token={route.token} onSession={onSession} />;
  }
  switch (state.kind) {
    case "checking":
      return (
        <p class="loading" role="status">
          <span class="spinner" /> Loading …
        </p>
      );
    case "unknown":
      return (
        <div class="failed">
          <FailureNote failure={state.failure} />
          <button class="button" type="button" onClick={control.check}>
            Try again
          </button>
        </div>
      );
    case "none":
      return <AccountPages route={route} notice={state.notice} control={control} />;
    case "open":
      return (
        <>
          <SignedInPages key={state.client.email} client={state.client} route={route} />
          {state.paused !== undefined && (
            <LogInAgainDialog
              reason={state.paused}
              email={state.client.email}
              onSession={control.start}
              onLeave={() => control.end()}
            />
          )}
        </>
      );
  }
}

export function App(): VNode {
  const { route, leaving } = useRoute();
  const control = useSession();
  useLock(control);
  const { state } = control;
  const signedIn = state.kind === "open" &&
    route.page !== "set-password" && {
      email: state.client.email,
      logOut: () => logOut(state.client, control),
    };
  return (
    <SendsEmailProvider value={control.sendsEmail}>
      <TrashDaysProvider value={control.trashDays}>
        <Toasts key={signedIn && signedIn.email}>
          <Layout route={route} {...signedIn}>
            <Content route={route} control={control} />
          </Layout>
          {leaving && <DiscardQuestion onDiscard={leaving.leave} onStay={leaving.stay} />}
        </Toasts>
      </TrashDaysProvider>
    </SendsEmailProvider>
  );
}
