import type { VNode } from "preact";
import type { TrashEntryRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useTitleFocus } from "../../parts/page-heading.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { restoreEntries } from "../../service/trash.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";

interface RestoreDialogProps {
  readonly entry: TrashEntryRecord;
  readonly onRestored: () => Promise<void>;
  readonly onClose: () => void;
}

/** Restores an entry under another name. */
export function RestoreDialog({ entry, onRestored, onClose }: RestoreDialogProps): VNode {
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
