import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { TrashEntryRecord } from "../../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { Empty } from "../../parts/notes.tsx";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";
import { useReturn } from "../../parts/scroll-position.ts";
import { NameText } from "../../parts/value-text.tsx";
import { deleteEntry, emptyTrash, listTrash } from "../../service/trash.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import { useSecrets } from "../secrets/secrets-context.ts";
import { TrashTable } from "./trash-table.tsx";

interface QuestionProps {
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

function DeleteEntryDialog({
  entry: { id, kind, name },
  onChange,
  onClose,
}: QuestionProps & { readonly entry: TrashEntryRecord }): VNode {
  const client = useClient();
  const toast = useToast();
  const remove = async (): Promise<void> => {
    await deleteEntry(client, id);
    toast(`Deleted ${shortened(name)} permanently.`);
    await onChange();
  };
  return (
    <ConfirmDialog
      title={`Delete ${kind} permanently?`}
      confirm="Delete permanently"
      work={remove}
      onClose={onClose}
    >
      <p>
        <strong>
          <NameText name={name} />
        </strong>{" "}
        and all its versions cannot be restored after that.
      </p>
    </ConfirmDialog>
  );
}

function EmptyTrashDialog({
  count,
  onChange,
  onClose,
}: QuestionProps & { readonly count: number }): VNode {
  const client = useClient();
  const toast = useToast();
  const empty = async (): Promise<void> => {
    await emptyTrash(client);
    toast("Emptied the trash.");
    await onChange();
  };
  return (
    <ConfirmDialog title="Empty the trash?" confirm="Empty trash" work={empty} onClose={onClose}>
      <p>
        {count === 1 ? "The entry" : `All ${count} entries`}, and what was deleted in the meantime,
        cannot be restored after that.
      </p>
    </ConfirmDialog>
  );
}

/** Deleted secrets and files of the user: restores them, or deletes them permanently. */
export function TrashPage(): VNode {
  const client = useClient();
  const days = useTrashDays();
  const { list: secrets } = useSecrets();
  const list = useLoaded(useCallback(() => listTrash(client), [client]));
  const { reload } = list;
  useReturn(useCallback(() => void reload(), [reload]));
  const [deleting, setDeleting] = useState<TrashEntryRecord | "all" | undefined>(undefined);
  const count = list.loaded.kind === "ready" ? list.loaded.value.length : 0;
  const question = {
    onChange: reload,
    onClose: () => setDeleting(undefined),
  };
  const onRestored = async (): Promise<void> =>
    void (await Promise.all([reload(), secrets.reload()]));
  return (
    <>
      <PageHeading title="Trash">
        {count > 0 && (
          <button class="button danger" type="button" onClick={() => setDeleting("all")}>
            Empty trash
          </button>
        )}
      </PageHeading>
      {days > 0 && (
        <p class="quiet">
          Deleted secrets and files stay here for {daysText(days)}, unless they had an earlier end.
          After a leak, delete them permanently.
        </p>
      )}
      <LoadedView of={list} what="the trash">
        {(entries) =>
          entries.length === 0 ? (
            <Empty icon="trash" title="The trash is empty" />
          ) : (
            <TrashTable entries={entries} onRestored={onRestored} onDelete={setDeleting} />
          )
        }
      </LoadedView>
      {deleting === "all" && <EmptyTrashDialog {...question} count={count} />}
      {deleting !== undefined && deleting !== "all" && (
        <DeleteEntryDialog {...question} entry={deleting} />
      )}
    </>
  );
}
