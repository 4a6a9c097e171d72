import type { VNode } from "preact";
import { useCallback, useLayoutEffect, useRef } from "preact/hooks";
import type { VersionRecord, SecretRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { NameText, Timestamp, PermissionBadge } from "../../parts/value-text.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { linkOf, hrefOf } from "../../routing/route.ts";
import { hasTypedText } from "../../routing/typed-text.ts";
import { useClient } from "../../session/client-context.ts";
import { MetadataSection } from "./metadata-section.tsx";
import { NewVersionSection, NewVersionForm } from "./new-version-form.tsx";
import { folderOf } from "./list-view.ts";
import { Breadcrumb } from "./places.tsx";
import { RemovalSection } from "./removal-section.tsx";
import { useKnownSecrets, useSecrets } from "./secrets-context.ts";
import { SharingSection } from "./sharing-section.tsx";
import { VersionsSection } from "./versions-section.tsx";
import { hasDeadline } from "./deadline.tsx";
import { StaleNote, useLoaded, type Loading } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/scroll-position.ts";
import { listVersions } from "../../service/secrets.ts";
import { UsedBySection } from "../consumers/consumer-list.tsx";
import { markSeen } from "./kept-digests.ts";
import { FailureNote, Empty } from "../../parts/notes.tsx";
import type { RequestError } from "../../service/request-error.ts";

interface UnreadableSecretProps {
  readonly owner: string;
  readonly name: string;
  readonly failure: RequestError;
  readonly onRetry: () => Promise<void>;
}

/**
 * Shown to a user who may write a secret but not list or read it
 * (docs/design/vault-contract.md#permissions).
 */
function WriteOnlySecret({ owner, name }: Pick<UnreadableSecretProps, "owner" | "name">): VNode {
  return (
    <section class="card narrow" aria-labelledby="write-title">
      <h2 id="write-title">Write-only access</h2>
      <p class="quiet">
        <span class="break">{owner}</span> lets you replace the value of this secret. You cannot see
        the value, and the secret is not in your list: keep the link to this page.
      </p>
      <NewVersionForm access={{ owner, key_name: name, shared: true }} />
    </section>
  );
}

function MissingSecret({ owner }: Pick<UnreadableSecretProps, "owner">): VNode {
  const { email } = useClient();
  const own = owner === email;
  return (
    <Empty
      icon="search"
      title={own ? "You have no such secret" : "This secret is not shared with you"}
    >
      <p>
        {own
          ? "It was deleted, or the link to it is incomplete."
          : `Either ${owner} has no secret of this name, or has not shared it with you, or has stopped sharing it. Ask them.`}
      </p>
      <a href={hrefOf({ page: "secrets" })}>Go to your secrets</a>
    </Empty>
  );
}

/** Content of a secret's page without the secret: says why, and what the user can still do. */
function UnreadableSecret({ owner, name, failure, onRetry }: UnreadableSecretProps): VNode {
  if (failure.code === "forbidden") return <WriteOnlySecret owner={owner} name={name} />;
  if (failure.code === "secret_not_found") return <MissingSecret owner={owner} />;
  return (
    <div class="failed">
      <FailureNote failure={failure} />
      <button class="button" type="button" onClick={() => void onRetry()}>
        Try again
      </button>
    </div>
  );
}

/**
 * Fetches the versions of a secret, the one source of its page: on opening, after each change, and
 * on return to the tab. The newest is first and describes the secret.
 */
function useVersions(owner: string, name: string): Loading<readonly VersionRecord[]> {
  const client = useClient();
  const { loaded } = useSecrets().list;
  const listed =
    loaded.kind === "ready"
      ? loaded.value.find((each) => each.owner === owner && each.key_name === name)
      : undefined;
  const shared = useRef(false);
  shared.current = listed?.shared ?? owner !== client.email;
  const versions = useLoaded(
    useCallback(
      () => listVersions(client, { owner, key_name: name, shared: shared.current }),
      [client, owner, name],
    ),
  );
  const { loaded: page, reload } = versions;
  const isReady = page.kind === "ready";
  useReturn(
    useCallback(() => {
      // The form of a user who may only write would be replaced.
      if (isReady || !hasTypedText()) void reload();
    }, [isReady, reload]),
  );
  return versions;
}

interface SecretPageProps {
  readonly owner: string;
  readonly name: string;
  /** Opens the value to edit it. */
  readonly edits?: boolean;
}

interface SecretDetailProps {
  readonly versions: readonly [VersionRecord, ...VersionRecord[]];
  readonly edits: boolean;
  readonly onChange: () => Promise<void>;
}

function SecretDetail({ versions, edits, onChange }: SecretDetailProps): VNode {
  const { email } = useClient();
  const [secret] = versions;
  const own = secret.owner === email;
  const known = useKnownSecrets();
  useLayoutEffect(() => {
    if (!own && known.length > 0) markSeen(email, [secret], known);
  }, [own, email, secret, known]);
  return (
    <>
      <SecretFacts secret={secret} own={own} />
      <NewVersionSection secret={secret} edits={edits} onChange={onChange} />
      <div class="columns">
        <div class="stack">
          <VersionsSection versions={versions} onChange={onChange} />
          {own && <UsedBySection name={secret.key_name} />}
        </div>
        <div class="stack">
          <MetadataSection secret={secret} onChange={onChange} />
          {own && <SharingSection secret={secret} onChange={onChange} />}
          <RemovalSection secret={secret} onChange={onChange} />
        </div>
      </div>
    </>
  );
}

function Content({ owner, name, edits }: Required<SecretPageProps>): VNode {
  const { loaded, reload } = useVersions(owner, name);
  if (loaded.kind === "failed")
    return <UnreadableSecret owner={owner} name={name} failure={loaded.failure} onRetry={reload} />;
  const [latest, ...earlier] = loaded.kind === "ready" ? loaded.value : [];
  if (loaded.kind === "ready" && latest) {
    return (
      <>
        {loaded.failure && <StaleNote at={loaded.fetchedAt} failure={loaded.failure} />}
        <SecretDetail versions={[latest, ...earlier]} edits={edits} onChange={reload} />
      </>
    );
  }
  return (
    <p class="loading" role="status">
      <span class="spinner" /> Loading the secret …
    </p>
  );
}

/** Page of one secret. */
export function SecretPage({ owner, name, edits = false }: SecretPageProps): VNode {
  const { listQuery } = useSecrets();
  return (
    <>
      <Breadcrumb folder={folderOf(name)} query={listQuery.current} />
      <PageHeading title={name} shown={<NameText name={name} />}>
        <CopyButton what="link" text={linkOf(owner, name)} />
      </PageHeading>
      <Content owner={owner} name={name} edits={edits} />
    </>
  );
}

/** Line below the title of a secret's page. */
function SecretFacts({
  secret,
  own,
}: {
  readonly secret: SecretRecord;
  readonly own: boolean;
}): VNode {
  return (
    <p class="badges secret-facts">
      <PermissionBadge permission={secret.permission} own={own} />
      {own && secret.shared && <span class="badge">Shared</span>}
      {!own && <span class="break">from {secret.owner}</span>}
      <span class="quiet">Version {secret.key_version}</span>
      <span class={secret.expired ? "badge bad" : "quiet"}>
        {secret.expired ? "Expired" : "Expires"} <Timestamp at={secret.expires_at} />
      </span>
      {hasDeadline(secret) && (
        <span class="badge warn">
          Deleted <Timestamp at={secret.delete_at} />
        </span>
      )}
    </p>
  );
}
