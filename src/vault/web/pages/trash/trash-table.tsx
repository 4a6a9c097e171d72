import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { TrashEntryRecord } from "../../../../protocol/responses.ts";
import { DataTable, type Column } from "../../parts/data-table.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Pager } from "../../parts/pager.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { NameText, Timestamp } from "../../parts/value-text.tsx";
import { toRequestError } from "../../service/request-error.ts";
import { restoreEntries } from "../../service/trash.ts";
import { useClient } from "../../session/client-context.ts";
import { restoredText } from "../deletion/trash-parts.tsx";
import { sizeText } from "../../text/formats.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useTitleFocus } from "../../parts/page-heading.tsx";
import { shortened } from "../../text/visible-text.ts";

interface RestoreDialogProps {
  readonly entry: TrashEntryRecord;
  readonly onRestored: () => Promise<void>;
  readonly onClose: () => void;
}

/** Restores an entry under another name. */
function RestoreDialog({ entry, onRestored, onClose }: RestoreDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const focusTitle = useTitleFocus();
  const { id, kind, name } = entry;
  const restore = async (form: HTMLFormElement): Promise<void> => {
    const other = formText(form, "name").trim();
    await restoreEntries(client, [id], other);
    toast(`Restored ${shortened(name)} as ${shortened(other)}.`);
    focusTitle();
    await onRestored();
    onClose();
  };
  return (
    <Dialog title="Restore under another name" onClose={onClose}>
      <Form action={action} submit="Restore" work={restore} onCancel={onClose}>
        <p>
          You have another {kind} with the name <strong class="break">{name}</strong> now. The
          deleted one keeps its versions{kind === "secret" && " and recipients"} under a new name.
        </p>
        <TextField
          label="New name"
          name="name"
          required
          autocomplete="off"
          autofocus
          defaultValue={`${name}-restored`}
          failure={action.failure}
        />
      </Form>
    </Dialog>
  );
}

const PAGE_SIZE = 50;

const columns: readonly Column[] = [
  { name: "name", title: "Name" },
  { name: "kind", title: "Kind" },
  { name: "deleted", title: "Deleted" },
  { name: "ends", title: "Removed" },
  { name: "actions", title: "Actions", hidden: true },
];

interface TrashTableProps {
  readonly entries: readonly TrashEntryRecord[];
  readonly onRestored: () => Promise<void>;
  readonly onDelete: (entry: TrashEntryRecord) => void;
}

interface RowProps extends Pick<TrashTableProps, "onDelete"> {
  readonly entry: TrashEntryRecord;
  readonly onRestore: (entry: TrashEntryRecord) => void;
}

function Row({ entry, onRestore, onDelete }: RowProps): VNode {
  const { name, kind, version, size, deleted_at: deletedAt, ends_at: endsAt } = entry;
  const deleteLabel = `Delete ${name} permanently`;
  return (
    <tr>
      <td class="name-cell">
        <NameText name={name} />
      </td>
      <td class="kind-cell">
        {kind === "file" ? "File" : "Secret"}
        <span class="kind-detail">
          , version {version}
          {size !== undefined && `, ${sizeText(size)}`}
        </span>
      </td>
      <td class="deleted-cell">
        <Timestamp at={deletedAt} short />
      </td>
      <td class="ends-cell">
        <Timestamp at={endsAt} short />
      </td>
      <td class="actions-cell">
        <button
          class="button"
          type="button"
          aria-label={`Restore ${name}`}
          onClick={() => onRestore(entry)}
        >
          Restore
        </button>
        <button
          class="button icon-button"
          type="button"
          aria-label={deleteLabel}
          title={deleteLabel}
          onClick={() => onDelete(entry)}
        >
          <Icon name="trash" />
        </button>
      </td>
    </tr>
  );
}

/** The entries of the trash. An entry whose name is taken is restored under another one. */
export function TrashTable({ entries, onRestored, onDelete }: TrashTableProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const [page, setPage] = useState(0);
  const [naming, setNaming] = useState<TrashEntryRecord | undefined>(undefined);
  const last = Math.floor((entries.length - 1) / PAGE_SIZE);
  const shown = Math.min(page, last) * PAGE_SIZE;
  const restore = (entry: TrashEntryRecord): void =>
    void action.run(async () => {
      try {
        await restoreEntries(client, [entry.id]);
      } catch (error) {
        const failure = toRequestError(error);
        if (failure.code === "name_taken") setNaming(entry);
        else toast(failure.message, "bad");
        return;
      }
      toast(restoredText([entry]));
      document.querySelector("h1")?.focus();
      await onRestored();
    });
  return (
    <>
      <section class="list" aria-label="List of deleted secrets and files">
        <DataTable name="trash-table" caption="The trash" columns={columns}>
          {entries.slice(shown, shown + PAGE_SIZE).map((entry) => (
            <Row key={entry.id} entry={entry} onRestore={restore} onDelete={onDelete} />
          ))}
        </DataTable>
      </section>
      <Pager
        page={Math.min(page, last)}
        pageSize={PAGE_SIZE}
        total={entries.length}
        onPage={setPage}
      />
      {naming && (
        <RestoreDialog
          entry={naming}
          onRestored={onRestored}
          onClose={() => setNaming(undefined)}
        />
      )}
    </>
  );
}
