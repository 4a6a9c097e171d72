import type { VNode } from "preact";
import type { VersionRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Icon } from "../../parts/icon.tsx";
import { NameText } from "../../parts/name-text.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { hrefOf } from "../../routing/route.ts";
import { useClient } from "../../session/client-context.ts";
import { linkOf } from "./link-of.ts";
import { MetadataSection } from "./metadata-section.tsx";
import { NewVersionSection } from "./new-version-section.tsx";
import { RemovalSection } from "./removal-section.tsx";
import { SecretFacts } from "./secret-facts.tsx";
import { useSecrets } from "./secrets-context.ts";
import { SharingSection } from "./sharing-section.tsx";
import { UnreadableSecret } from "./unreadable-secret.tsx";
import { useVersions } from "./use-versions.ts";
import { VersionsSection } from "./versions-section.tsx";

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
