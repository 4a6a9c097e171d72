import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { TokenResponse } from "../../../../protocol/responses.ts";
import {
  isUnlimited,
  type Scope,
  formatScope,
  scopeOf,
  scopeReaches,
} from "../../../../protocol/scope.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { issueToken } from "../../service/account-settings.ts";
import { RequestError } from "../../service/request-error.ts";
import { useClient } from "../../session/client-context.ts";
import { metadataChoices } from "../secrets/list-view.ts";
import { useKnownSecrets } from "../secrets/secrets-context.ts";
import {
  connectionCommand,
  credentialLines,
  credentialsOf,
  isObjectName,
  isVaultUrl,
  type NewConnection,
} from "../kubernetes/manifest.ts";

/** The operator refreshes its tokens long before they expire. */
const TOKEN_HOURS = 24;

/** Limits a token to an environment; an empty one limits nothing. */
function environmentScope(environment: string): Scope {
  return scopeOf((attribute) =>
    attribute === "environment_type" && environment !== "" ? new Set([environment]) : "*",
  );
}

/** @throws RequestError at the field of a name that Kubernetes does not accept */
function readName(form: HTMLFormElement, field: string): string {
  const name = formText(form, field).trim();
  if (isObjectName(name)) return name;
  const reason = "Lower-case letters, digits, - and .";
  throw new RequestError("invalid_request", "Check the names.", 0, [{ path: field, reason }]);
}

/** @throws RequestError at the field of the URL */
function readUrl(form: HTMLFormElement): string {
  const url = formText(form, "url").trim();
  if (isVaultUrl(url)) return url;
  const reason = "A URL without /v1, query or user, such as https://vault.example.com";
  throw new RequestError("invalid_request", "Check the URL.", 0, [{ path: "url", reason }]);
}

/** Returns the address of these pages. */
const vaultUrl = (): string => location.origin + location.pathname.replace(/\/$/u, "");

interface Connected {
  readonly connection: NewConnection;
  readonly tokens: TokenResponse;
}

/** Fields of the connection, as the cluster sees it. */
function ConnectionFields({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <>
      <div class="field-grid pairs">
        <TextField
          label="Namespace"
          name="namespace"
          defaultValue="default"
          required
          autocomplete="off"
          spellcheck={false}
          failure={failure}
        />
        <TextField
          label="Name of the connection"
          name="name"
          defaultValue="vault"
          required
          autocomplete="off"
          spellcheck={false}
          failure={failure}
        />
      </div>
      <TextField
        label="URL of the vault, as the cluster reaches it"
        name="url"
        defaultValue={vaultUrl()}
        required
        autocomplete="off"
        spellcheck={false}
        hint="Operators reject http, unless they run with --allow-http."
        failure={failure}
      />
    </>
  );
}

function ConnectForm({ onDone }: { readonly onDone: (connected: Connected) => void }): VNode {
  const client = useClient();
  const secrets = useKnownSecrets();
  const action = useAction();
  const [environment, setEnvironment] = useState("");
  const environments = useMemo(() => metadataChoices(secrets, "environment_type"), [secrets]);
  const scope = environmentScope(environment);
  const reached = secrets.filter(({ key_name: name, metadata }) =>
    scopeReaches(scope, name, metadata),
  );
  const work = async (form: HTMLFormElement): Promise<void> => {
    const connection: NewConnection = {
      name: readName(form, "name"),
      namespace: readName(form, "namespace"),
      url: readUrl(form),
      email: client.email,
    };
    const tokens = await issueToken(client, {
      password: formText(form, "password"),
      name: `Cluster: ${connection.namespace}/${connection.name}`,
      expiration_hours: TOKEN_HOURS,
      ...(!isUnlimited(scope) && { scope: formatScope(scope) }),
    });
    onDone({ connection, tokens });
  };
  const { failure } = action;
  return (
    <Form action={action} submit="Create the token" icon="terminal" work={work}>
      <ConnectionFields failure={failure} />
      <ChoiceField
        label="What the cluster reads"
        name="environment"
        failure={failure}
        hint={`This token reads ${reached.length} of ${secrets.length} secrets, and all files.`}
        onChange={setEnvironment}
      >
        <option value="">Everything that I can read</option>
        {environments.map((each) => (
          <option key={each} value={each}>
            Only the environment {each}
          </option>
        ))}
      </ChoiceField>
      <PasswordField
        label="Confirm your password"
        name="password"
        autocomplete="current-password"
        failure={failure}
      />
    </Form>
  );
}

/** The commands, and the tokens that they read. */
function Commands({ connection, tokens }: Connected): VNode {
  const command = connectionCommand(connection);
  useEffect(() => {
    // The button that had the focus has left the page.
    document.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  return (
    <>
      <section class="card" aria-labelledby="command-title">
        <h2 id="command-title">2. Paste the commands into a terminal</h2>
        <p>
          They create the Secret <code>{credentialsOf(connection.name)}</code> and the connection.
          The first one waits for the credentials, and does not show them. They are in no command
          line and in no history of the shell.
        </p>
        <pre class="example" tabIndex={0} role="region" aria-label="Commands">
          {command}
        </pre>
        <div class="buttons">
          <CopyButton what="commands" text={command} />
        </div>
      </section>
      <section class="card" aria-labelledby="credentials-title">
        <h2 id="credentials-title">3. Paste the credentials, then press Ctrl+D</h2>
        <p>
          They are shown nowhere and cannot be copied again after you leave this page. You can end
          them under <a href={hrefOf({ page: "api-token" })}>API tokens</a>.
        </p>
        <div class="buttons">
          <CopyButton
            what="credentials"
            text={credentialLines(tokens.access_token, tokens.refresh_token)}
            secret
          />
        </div>
        <p class="hint">
          <code>kubectl get vaultconnection -n {connection.namespace}</code> then shows the
          connection as ready. A secret&apos;s page has the manifest that uses it.
        </p>
      </section>
    </>
  );
}

/** Connects a namespace of a cluster: makes a token, and prints what creates the connection. */
export function ConnectPage(): VNode {
  const [connected, setConnected] = useState<Connected | undefined>(undefined);
  return (
    <>
      <PageHeading title="Connect a cluster" />
      <p class="lead">
        The Vaultsync operator in the cluster logs in with tokens of your account. For a team, log
        in with an account for the cluster first, and share secrets with it.
      </p>
      <div class="narrow stack">
        {connected ? (
          <Commands {...connected} />
        ) : (
          <section class="card" aria-labelledby="token-title">
            <h2 id="token-title">1. Create a token for the cluster</h2>
            <ConnectForm onDone={setConnected} />
          </section>
        )}
      </div>
    </>
  );
}
