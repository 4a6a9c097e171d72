import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { Timestamp } from "../../parts/timestamp.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { PermissionBadge } from "../../parts/permission-badge.tsx";
import { hrefOf } from "../../routing/route.ts";
import { useClient } from "../../session/client-context.ts";
import { hasDeadline } from "./deadline.tsx";
import { MetadataSection } from "./metadata-section.tsx";
import { NewVersionForm } from "./new-version-form.tsx";
import { RemovalSection } from "./removal-section.tsx";
import { useSecrets } from "./secrets-context.ts";
import { SharingSection } from "./sharing-section.tsx";
import { VersionsSection } from "./versions-section.tsx";

function Facts({ secret, own }: { readonly secret: SecretRecord; readonly own: boolean }): VNode {
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

function NewVersionSection({
  secret,
  onChange,
}: {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}): VNode {
  const [open, setOpen] = useState(false);
  if (!open) {
    return (
      <div class="buttons">
        <button class="button primary" type="button" onClick={() => setOpen(true)}>
          <Icon name="plus" />
          New version
        </button>
      </div>
    );
  }
  const onAdded = async (): Promise<void> => {
    setOpen(false);
    await onChange();
  };
  return (
    <section class="card" aria-label="New version">
      <NewVersionForm access={secret} onAdded={onAdded} onCancel={() => setOpen(false)} />
    </section>
  );
}

function SecretDetail({ secret }: { readonly secret: SecretRecord }): VNode {
  const { email } = useClient();
  const { list } = useSecrets();
  const own = secret.owner === email;
  return (
    <>
      <Facts secret={secret} own={own} />
      {secret.permission !== "R" && <NewVersionSection secret={secret} onChange={list.reload} />}
      <div class="columns">
        <VersionsSection secret={secret} onChange={list.reload} />
        <div class="stack">
          <MetadataSection secret={secret} onChange={list.reload} />
          {own && <SharingSection secret={secret} onChange={list.reload} />}
          <RemovalSection secret={secret} onChange={list.reload} />
        </div>
      </div>
    </>
  );
}

/** Write-only recipients do not have a secret in their list (docs/design/vault-contract.md#permissions). */
function NotListed({ owner, name }: { readonly owner: string; readonly name: string }): VNode {
  const { email } = useClient();
  const { list } = useSecrets();
  return (
    <>
      <p class="note">
        <Icon name="warning" />
        <span>This secret is not in your list. It may have been deleted, or is no longer shared with you.</span>
      </p>
      {owner !== email && (
        <section class="card" aria-labelledby="write-title">
          <h2 id="write-title">Write-only access</h2>
          <p class="quiet">If {owner} gave you write-only access, you can add a version here.</p>
          <NewVersionForm access={{ owner, key_name: name, shared: true }} onAdded={list.reload} />
        </section>
      )}
    </>
  );
}

/** Page of one secret. */
export function SecretPage({ owner, name }: { readonly owner: string; readonly name: string }): VNode {
  const { list } = useSecrets();
  return (
    <>
      <p class="crumbs">
        <a href={hrefOf({ page: "secrets" })}>
          <Icon name="back" />
          All secrets
        </a>
      </p>
      <PageHeading title={name} />
      <LoadedView of={list} what="the secret">
        {(secrets) => {
          const secret = secrets.find((candidate) => candidate.key_name === name && candidate.owner === owner);
          return secret ? <SecretDetail secret={secret} /> : <NotListed owner={owner} name={name} />;
        }}
      </LoadedView>
    </>
  );
}
