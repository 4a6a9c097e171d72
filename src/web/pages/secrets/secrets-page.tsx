import type { VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { Pager } from "../../parts/pager.tsx";
import { hrefOf } from "../../routing/route.ts";
import { useClient } from "../../session/client-context.ts";
import { ListToolbar } from "./list-toolbar.tsx";
import { selectSecrets } from "./list-view.ts";
import { useSecrets } from "./secrets-context.ts";
import { SecretsTable } from "./secrets-table.tsx";

/** Maximum number of table rows, so that a list of ten thousand renders as fast as one of fifty. */
const PAGE_SIZE = 50;

function NewSecretLink(): VNode {
  return (
    <a class="button primary" href={hrefOf({ page: "new-secret" })}>
      <Icon name="plus" />
      New secret
    </a>
  );
}

function SecretList({ secrets }: { readonly secrets: readonly SecretRecord[] }): VNode {
  const { email } = useClient();
  const { view, setView } = useSecrets();
  const selected = useMemo(() => selectSecrets(secrets, view, email), [secrets, view, email]);
  if (secrets.length === 0) {
    return (
      <Empty icon="key" title="No secrets yet">
        <p>
          Store passwords, keys and connection strings. Only you can access your secrets until you share them. Secrets that others
          share with you appear here too.
        </p>
        <NewSecretLink />
      </Empty>
    );
  }
  const page = Math.min(view.page, Math.floor(Math.max(0, selected.length - 1) / PAGE_SIZE));
  return (
    <>
      <ListToolbar view={view} onView={setView} />
      {selected.length > 0 ? (
        <SecretsTable secrets={selected.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE)} email={email} />
      ) : (
        <Empty icon="search" title="No matches">
          <p>No secret matches this search and filter. The search covers names, owners and metadata.</p>
        </Empty>
      )}
      <Pager page={page} pageSize={PAGE_SIZE} total={selected.length} onPage={(next) => setView({ ...view, page: next })} />
    </>
  );
}

/** List of the user's own and received secrets, reloaded on each visit. */
export function SecretsPage(): VNode {
  const { list } = useSecrets();
  const { reload } = list;
  useEffect(() => void reload(), [reload]);
  return (
    <>
      <PageHeading title="Secrets">
        <NewSecretLink />
      </PageHeading>
      <LoadedView of={list} what="your secrets">
        {(secrets) => <SecretList secrets={secrets} />}
      </LoadedView>
    </>
  );
}
