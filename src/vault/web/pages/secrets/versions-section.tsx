import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { VersionRecord } from "../../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Pager } from "../../parts/pager.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { deleteVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { MakeCurrentDialog } from "./make-current.tsx";
import { VersionItem } from "./version-item.tsx";

const PAGE_SIZE = 5;

interface VersionsSectionProps {
  /** The newest first. */
  readonly versions: readonly [VersionRecord, ...VersionRecord[]];
  readonly onChange: () => Promise<void>;
}

/**
 * All versions of a secret, newest first, with their values on request. A user who may write can
 * make an earlier one current; the creator can delete all but the last one.
 */
export function VersionsSection({ versions, onChange }: VersionsSectionProps): VNode {
  const client = useClient();
  const toast = useToast();
  const [page, setPage] = useState(0);
  const [deletion, setDeletion] = useState<number | undefined>(undefined);
  const [restored, setRestored] = useState<VersionRecord | undefined>(undefined);
  const [latest] = versions;
  const own = latest.owner === client.email;
  const remove = async (version: number): Promise<void> => {
    await deleteVersion(client, latest.key_name, version);
    toast(`Deleted version ${version}.`);
    await onChange();
  };
  return (
    <section class="card" aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      <ol class="versions">
        {versions.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((version) => (
          <VersionItem
            key={version.key_version}
            version={version}
            latest={version === latest}
            onMakeCurrent={
              version !== latest && latest.permission === "RW"
                ? () => setRestored(version)
                : undefined
            }
            onDelete={
              own && versions.length > 1 ? () => setDeletion(version.key_version) : undefined
            }
          />
        ))}
      </ol>
      {versions.length > PAGE_SIZE && (
        <Pager page={page} pageSize={PAGE_SIZE} total={versions.length} onPage={setPage} />
      )}
      {restored && (
        <MakeCurrentDialog
          version={restored}
          latest={latest}
          onChange={onChange}
          onClose={() => setRestored(undefined)}
        />
      )}
      {deletion !== undefined && (
        <ConfirmDialog
          title={`Delete version ${deletion}?`}
          confirm="Delete version"
          work={() => remove(deletion)}
          onClose={() => setDeletion(undefined)}
        >
          <p>Its value is deleted for everyone, and its number is never reused.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
