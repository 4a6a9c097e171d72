import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { Timestamp } from "../../parts/timestamp.tsx";
import { Pager } from "../../parts/pager.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { deleteVersion, listVersions } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { SecretValue } from "./secret-value.tsx";

const PAGE_SIZE = 10;

interface VersionItemProps {
  readonly version: SecretRecord;
  readonly latest: boolean;
  /** Asks for confirmation and deletes this version. Undefined when deletion is not allowed. */
  readonly onDelete: (() => void) | undefined;
}

function VersionItem({ version, latest, onDelete }: VersionItemProps): VNode {
  const number = version.key_version;
  return (
    <li class="version">
      <div class="version-head">
        <div class="version-title">
          <h3>
            Version {number} {latest && <span class="badge own">Latest</span>}
          </h3>
          <p class="quiet">
            Created <Timestamp at={version.created_at} />, {version.expired ? "expired" : "expires"}{" "}
            <Timestamp at={version.expires_at} />
          </p>
        </div>
        {onDelete && (
          <button
            class="button icon-button"
            type="button"
            aria-label={`Delete version ${number}`}
            title={`Delete version ${number}`}
            onClick={onDelete}
          >
            <Icon name="trash" />
          </button>
        )}
      </div>
      <SecretValue access={version} version={number} />
    </li>
  );
}

interface VersionsSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

/** All versions of a secret, newest first, with their values on request. The creator can delete all but the last one. */
export function VersionsSection({ secret, onChange }: VersionsSectionProps): VNode {
  const client = useClient();
  const toast = useToast();
  const [page, setPage] = useState(0);
  const [deletion, setDeletion] = useState<number | undefined>(undefined);
  const loading = useLoaded(useCallback(() => listVersions(client, secret), [client, secret]));
  const own = secret.owner === client.email;
  const remove = async (version: number): Promise<void> => {
    await deleteVersion(client, secret.key_name, version);
    toast(`Deleted version ${version}.`);
    await onChange();
  };
  return (
    <section class="card" aria-labelledby="versions-title">
      <h2 id="versions-title">Versions</h2>
      <LoadedView of={loading} what="the versions">
        {(versions) => (
          <>
            <ol class="versions">
              {versions.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((version) => (
                <VersionItem
                  key={version.key_version}
                  version={version}
                  latest={version.key_version === versions[0]?.key_version}
                  onDelete={own && versions.length > 1 ? () => setDeletion(version.key_version) : undefined}
                />
              ))}
            </ol>
            {versions.length > PAGE_SIZE && <Pager page={page} pageSize={PAGE_SIZE} total={versions.length} onPage={setPage} />}
          </>
        )}
      </LoadedView>
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
