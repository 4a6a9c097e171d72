import type { VNode } from "preact";
import type { VersionRecord, SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { useClient } from "../../session/client-context.ts";
import { RecentConsumers } from "../consumers/recent-consumers.tsx";
import { SecretValue } from "./secret-value.tsx";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Pager } from "../../parts/pager.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { deleteVersion, exposeVersion, addVersion } from "../../service/secrets.ts";
import { CompareDialog, Comparison } from "./compare-versions.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useAction } from "../../parts/use-action.ts";

interface MakeCurrentProps {
  readonly version: SecretRecord;
  readonly latest: SecretRecord;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

/**
 * Asks, then adds a version with the value of an earlier one. The values enter the page only for a
 * comparison.
 */
function MakeCurrentDialog({ version, latest, onChange, onClose }: MakeCurrentProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (): Promise<void> => {
    const { key_value: value } = await exposeVersion(client, version, version.key_version);
    const added = await addVersion(client, latest, value, latest.key_version);
    toast(`Version ${added.key_version} has the value of version ${version.key_version}.`);
    await onChange();
    onClose();
  };
  return (
    <Dialog title={`Make version ${version.key_version} current?`} onClose={onClose}>
      <Form action={action} submit="Make current" work={work} onCancel={onClose}>
        <p>
          Adds a version with the value of version {version.key_version}, which everyone with access
          gets from then on. Version {latest.key_version} stays in the list, and its metadata stays.
        </p>
        <Comparison
          before={latest}
          after={version}
          show={`Compare with version ${latest.key_version}`}
        />
      </Form>
    </Dialog>
  );
}

interface VersionItemProps {
  readonly version: VersionRecord;
  readonly latest: boolean;
  /** Undefined when the user may not write, and for the latest version. */
  readonly onMakeCurrent: (() => void) | undefined;
  /** Undefined for the only version. */
  readonly onCompare: (() => void) | undefined;
  /** Asks for confirmation and deletes this version. Undefined when deletion is not allowed. */
  readonly onDelete: (() => void) | undefined;
}

function Author({ email }: { readonly email: string | undefined }): VNode | null {
  const client = useClient();
  if (email === undefined) return null;
  return <span class="break"> by {email === client.email ? "you" : email}</span>;
}

/** One version with its author, its dates and, on request, its value. */
function VersionItem({
  version,
  latest,
  onMakeCurrent,
  onCompare,
  onDelete,
}: VersionItemProps): VNode {
  const number = version.key_version;
  return (
    <li class="version">
      <div class="version-head">
        <div class="version-title">
          <h3>
            Version {number} {latest && <span class="badge own">Latest</span>}
          </h3>
          <p class="quiet">
            Created <Timestamp at={version.created_at} />
            <Author email={version.created_by} />, {version.expired ? "expired" : "expires"}{" "}
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
      <SecretValue access={version} version={number}>
        {onCompare && (
          <button
            class="button"
            type="button"
            aria-label={`Compare version ${number}`}
            onClick={onCompare}
          >
            Compare
          </button>
        )}
        {onMakeCurrent && (
          <button
            class="button"
            type="button"
            aria-label={`Make current: version ${number}`}
            onClick={onMakeCurrent}
          >
            Make current
          </button>
        )}
      </SecretValue>
    </li>
  );
}

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
  const [compared, setCompared] = useState<number | undefined>(undefined);
  const [restored, setRestored] = useState<VersionRecord | undefined>(undefined);
  const [latest] = versions;
  const own = latest.owner === client.email;
  const remove = async (version: number): Promise<void> => {
    try {
      await deleteVersion(client, latest, version);
      toast(`Deleted version ${version}.`);
    } finally {
      await onChange();
    }
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
            onCompare={versions.length > 1 ? () => setCompared(version.key_version) : undefined}
            onDelete={
              own && versions.length > 1 ? () => setDeletion(version.key_version) : undefined
            }
          />
        ))}
      </ol>
      {versions.length > PAGE_SIZE && (
        <Pager page={page} pageSize={PAGE_SIZE} total={versions.length} onPage={setPage} />
      )}
      {compared !== undefined && (
        <CompareDialog
          versions={versions}
          number={compared}
          onClose={() => setCompared(undefined)}
        />
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
          <RecentConsumers kind="secret" names={[latest.key_name]} version={deletion} />
        </ConfirmDialog>
      )}
    </section>
  );
}
