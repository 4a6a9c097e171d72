import type { VNode } from "preact";
import { useCallback, useEffect, useMemo, useRef } from "preact/hooks";
import { Empty } from "./parts/notes.tsx";
import { PageHeading } from "./parts/page-heading.tsx";
import { Lazy, useLoaded } from "./parts/loaded-view.tsx";
import { UploadList } from "./pages/files/upload-list.tsx";
import { useUploadQueue, UploadsProvider } from "./pages/files/use-upload-queue.ts";
import { Keys } from "./pages/keys/keys.tsx";
import { NewSecretPage } from "./pages/secrets/new-secret-page.tsx";
import { SecretPage } from "./pages/secrets/secret-page.tsx";
import { SecretsProvider, type Draft } from "./pages/secrets/secrets-context.ts";
import { SecretsPage } from "./pages/secrets/secrets-page.tsx";
import { hrefOf, pageKey, type Route } from "./routing/route.ts";
import { replaceRoute } from "./routing/use-route.ts";
import { listSecrets } from "./service/secrets.ts";
import type { VaultClient } from "./service/vault-client.ts";
import { ClientProvider } from "./session/client-context.ts";

/** Replaces a login page with the list of secrets, because the user is already logged in. */
function RedirectToSecrets(): null {
  useEffect(() => replaceRoute({ page: "secrets" }), []);
  return null;
}

function UnknownPage(): VNode {
  return (
    <>
      <PageHeading title="Page not found" />
      <Empty icon="warning" title="This page does not exist">
        <a href={hrefOf({ page: "secrets" })}>Go to your secrets</a>
      </Empty>
    </>
  );
}

const loadApiTokenPage = async () =>
  (await import("./pages/api-token/api-token-page.tsx")).ApiTokenPage;
const loadConnectPage = async () =>
  (await import("./pages/api-token/connect-page.tsx")).ConnectPage;
const loadAccountPage = async () =>
  (await import("./pages/account-settings/account-page.tsx")).AccountPage;
const loadFilesPage = async () => (await import("./pages/files/files-page.tsx")).FilesPage;
const loadTeamsPage = async () => (await import("./pages/teams/teams-page.tsx")).TeamsPage;
const loadTrashPage = async () => (await import("./pages/trash/trash-page.tsx")).TrashPage;

/** A page that requires a login. A login page redirects to the list of secrets. */
function Page({ route }: { readonly route: Route }): VNode {
  switch (route.page) {
    case "secrets":
      return <SecretsPage query={route.query ?? ""} />;
    case "new-secret":
      return <NewSecretPage query={route.query ?? ""} />;
    case "secret":
      return <SecretPage {...route} />;
    case "files":
      return <Lazy load={loadFilesPage} props={{ query: route.query ?? "" }} />;
    case "teams":
      return <Lazy load={loadTeamsPage} props={{}} />;
    case "api-token":
      return <Lazy load={loadApiTokenPage} props={{}} />;
    case "connect":
      return <Lazy load={loadConnectPage} props={{}} />;
    case "account":
      return <Lazy load={loadAccountPage} props={{}} />;
    case "trash":
      return <Lazy load={loadTrashPage} props={{}} />;
    case "unknown":
      return <UnknownPage />;
    case "login":
    case "sign-up":
    case "forgot-password":
    case "set-password":
      return <RedirectToSecrets />;
  }
}

/** All pages that require a login. */
export function SignedInPages({
  client,
  route,
}: {
  readonly client: VaultClient;
  readonly route: Route;
}): VNode {
  const listQuery = useRef("");
  const draft = useRef<Draft | undefined>(undefined);
  const list = useLoaded(useCallback(() => listSecrets(client), [client]));
  const { loaded, reload } = list;
  const secrets = useMemo(() => ({ list: { loaded, reload }, listQuery, draft }), [loaded, reload]);
  const uploads = useUploadQueue(client);
  return (
    <ClientProvider value={client}>
      <SecretsProvider value={secrets}>
        <UploadsProvider value={uploads}>
          {route.page !== "files" && <UploadList key={pageKey(route)} />}
          <Page key={pageKey(route)} route={route} />
          <Keys route={route} />
        </UploadsProvider>
      </SecretsProvider>
    </ClientProvider>
  );
}
