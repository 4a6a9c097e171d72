import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { TokenResponse } from "../../../../protocol/responses.ts";
import { operationPath } from "../../../../protocol/operation-paths.ts";
import { browserClock } from "../../service/browser-clock.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { PageHeading, useTitleFocus } from "../../parts/page-heading.tsx";
import { hrefOf } from "../../routing/route.ts";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { listCredentials } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { CredentialsSection } from "../account-settings/credentials-section.tsx";
import { NewTokenForm } from "./new-token-form.tsx";

/**
 * Returns a shell example that passes the token on standard input: the token appears in no list of
 * processes.
 */
function example(email: string): string {
  const body = JSON.stringify({ email });
  return [
    "read -rs VAULT_TOKEN   # paste the token, press Enter",
    `printf 'authorization: %s\\n' "$VAULT_TOKEN" |`,
    `  curl --silent --header @- --header 'content-type: application/json' \\`,
    `    --data '${body.replaceAll("'", "\\u0027")}' \\`,
    `    ${location.origin}${operationPath.list_no_dup}`,
  ].join("\n");
}

interface Issued {
  readonly tokens: TokenResponse;
  readonly at: number;
}

function TokenBox({
  label,
  what,
  token,
}: {
  readonly label: string;
  readonly what: string;
  readonly token: string;
}): VNode {
  return (
    <div class="token">
      <h3>{label}</h3>
      <div class="token-row">
        <code class="value">{token}</code>
        <CopyButton what={what} text={token} secret />
      </div>
    </div>
  );
}

function Tokens({
  issued: { tokens, at },
  onDone,
}: {
  readonly issued: Issued;
  readonly onDone: () => void;
}): VNode {
  const focusTitle = useTitleFocus();
  const close = (): void => {
    focusTitle();
    onDone();
  };
  return (
    <section class="card" aria-labelledby="token-title">
      <h2 id="token-title">Your token</h2>
      <p class="note good" role="status">
        <Icon name="clock" />
        <span>
          Expires <Timestamp at={at + tokens.expires_in * 1000} />. The tokens are shown only once:
          copy them now.
        </span>
      </p>
      <TokenBox label="Access token" what="access token" token={tokens.access_token} />
      <TokenBox label="Refresh token" what="refresh token" token={tokens.refresh_token} />
      <p class="hint">
        Use the refresh token to obtain new access tokens. It expires when unused for 90 days.
      </p>
      <div class="buttons">
        <button class="button" type="button" onClick={close}>
          Done
        </button>
      </div>
    </section>
  );
}

function Usage(): VNode {
  const { email } = useClient();
  const text = example(email);
  return (
    <section class="card" aria-labelledby="usage-title">
      <div class="card-head">
        <h2 id="usage-title">Usage</h2>
        <CopyButton what="example" text={text} />
      </div>
      <p>
        Send the token in the <code>authorization</code> header, without a prefix. This example
        keeps the token out of the shell history and the process list:
      </p>
      <pre class="example" tabIndex={0} role="region" aria-label="Example">
        {text}
      </pre>
      <p>
        <a href="/v1/openapi.json">OpenAPI document</a>
      </p>
    </section>
  );
}

/** Creates access tokens, lists and revokes them. A token is kept only in this page. */
export function ApiTokenPage(): VNode {
  const client = useClient();
  const credentials = useLoaded(useCallback(() => listCredentials(client), [client]));
  const { reload } = credentials;
  useReturn(useCallback(() => void reload(), [reload]));
  const [issued, setIssued] = useState<Issued | undefined>(undefined);
  const onIssued = async (tokens: TokenResponse): Promise<void> => {
    setIssued({ tokens, at: browserClock.now() });
    await reload();
  };
  return (
    <>
      <PageHeading title="API tokens">
        <a class="button" href={hrefOf({ page: "connect" })}>
          <Icon name="terminal" />
          Connect a cluster
        </a>
      </PageHeading>
      <div class="columns">
        <div class="stack">
          {issued ? (
            <Tokens issued={issued} onDone={() => setIssued(undefined)} />
          ) : (
            <section class="card" aria-labelledby="issue-title">
              <h2 id="issue-title">New token</h2>
              <NewTokenForm onIssued={onIssued} />
            </section>
          )}
          <Usage />
        </div>
        <CredentialsSection kind="token" credentials={credentials} />
      </div>
    </>
  );
}
