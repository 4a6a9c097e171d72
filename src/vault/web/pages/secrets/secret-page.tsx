import type { VNode } from "preact";
import type { VersionRecord, SecretRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { NameText, Timestamp, PermissionBadge } from "../../parts/value-text.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { hrefOf, linkOf } from "../../routing/route.ts";
import { useClient } from "../../session/client-context.ts";
import { MetadataSection } from "./metadata-section.tsx";
import { NewVersionSection } from "./new-version-form.tsx";
import { RemovalSection } from "./removal-section.tsx";
import { useSecrets } from "./secrets-context.ts";
import { SharingSection } from "./sharing-section.tsx";
import { UnreadableSecret } from "./unreadable-secret.tsx";
import { VersionsSection } from "./versions-section.tsx";
import { hasDeadline } from "./deadline.tsx";
import { useCallback, useRef } from "preact/hooks";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useReturn } from "../../parts/use-return.ts";
import type { RequestError } from "../../service/request-error.ts";
import { listVersions } from "../../service/secrets.ts";

interface Versions {
  /**
   * The newest first; the first one describes the secret. Stays when a later request fails: no
   * typed text is lost.
   */
  readonly versions: readonly VersionRecord[] | undefined;
  /** Failure of the last request. */
  readonly failure: RequestError | undefined;
  readonly reload: () => Promise<void>;
}

/**
 * Fetches the versions of a secret, the one source of its page: on opening, after each change, and
 * on return to the tab.
 */
function useVersions(owner: string, name: string): Versions {
  const client = useClient();
  const { loaded, reload } = useLoaded(
    useCallback(() => listVersions(client, owner, name), [client, owner, name]),
  );
  const last = useRef<readonly VersionRecord[] | undefined>(undefined);
  if (loaded.kind === "ready") last.current = loaded.value;
  useReturn(useCallback(() => void reload(), [reload]));
  return {
    versions: last.current,
    failure: loaded.kind === "failed" ? loaded.failure : undefined,
    reload,
  };
}

interface SecretDetailProps {
  readonly versions: readonly [VersionRecord, ...VersionRecord[]];
  readonly onChange: () => Promise<void>;
}

function SecretDetail({ versions, onChange }: SecretDetailProps): VNode {
  const { email } = useClient();
  const [secret] = versions;
  const own = secret.owner === email;
  return (
    <>
      <SecretFacts secret={secret} own={own} />
      {secret.permission !== "R" && <NewVersionSection secret={secret} onChange={onChange} />}
      <div class="columns">
        <VersionsSection versions={versions} onChange={onChange} />
        <div class="stack">
          <MetadataSection secret={secret} onChange={onChange} />
          {own && <SharingSection secret={secret} onChange={onChange} />}
          <RemovalSection secret={secret} onChange={onChange} />
        </div>
      </div>
    </>
  );
}

function Content({ owner, name }: { readonly owner: string; readonly name: string }): VNode {
  const { versions, failure, reload } = useVersions(owner, name);
  const [latest, ...earlier] = versions ?? [];
  if (latest) {
    return (
      <>
        <FailureNote failure={failure} />
        <SecretDetail versions={[latest, ...earlier]} onChange={reload} />
      </>
    );
  }
  if (failure)
    return <UnreadableSecret owner={owner} name={name} failure={failure} onRetry={reload} />;
  return (
    <p class="loading" role="status">
      <span class="spinner" /> Loading the secret …
    </p>
  );
}

/** Page of one secret. */
export function SecretPage({
  owner,
  name,
}: {
  readonly owner: string;
  readonly name: string;
}): VNode {
  const { listQuery } = useSecrets();
  return (
    <>
      <p class="crumbs">
        <a href={hrefOf({ page: "secrets", query: listQuery.current })}>
          <Icon name="back" />
          All secrets
        </a>
      </p>
      <PageHeading title={name} shown={<NameText name={name} />}>
        <CopyButton what="link" text={linkOf(owner, name)} />
      </PageHeading>
      <Content owner={owner} name={name} />
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
