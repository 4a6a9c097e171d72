import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";
import { deleteFile, type FileDeletion } from "../../service/files.ts";
import { RecentConsumers } from "../consumers/recent-consumers.tsx";
import { useClient } from "../../session/client-context.ts";
import { PermanentField, useDeletedToast } from "../deletion/trash-parts.tsx";

interface DeleteFileDialogProps {
  readonly deletion: FileDeletion;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

export function DeleteFileDialog({ deletion, onChange, onClose }: DeleteFileDialogProps): VNode {
  const client = useClient();
  const days = useTrashDays();
  const report = useDeletedToast(onChange);
  const [permanently, setPermanently] = useState(false);
  const { filename, version } = deletion;
  const what = version === undefined ? filename : `version ${version} of ${filename}`;
  const remove = async (): Promise<void> => {
    try {
      report(`Deleted ${what}.`, await deleteFile(client, { ...deletion, permanently }));
    } finally {
      await onChange();
    }
  };
  return (
    <ConfirmDialog
      title={version === undefined ? "Delete file?" : `Delete version ${version}?`}
      confirm={version === undefined ? "Delete file" : "Delete version"}
      work={remove}
      onClose={onClose}
    >
      <p>
        <strong class="break">{what}</strong>{" "}
        {version === undefined && days > 0 && !permanently
          ? `and all its versions move to the trash for ${daysText(days)}.`
          : `${version === undefined ? "and all its versions cannot" : "cannot"} be restored.`}
      </p>
      {version === undefined && <PermanentField checked={permanently} onChange={setPermanently} />}
      <RecentConsumers kind="file" names={[filename]} version={version} />
    </ConfirmDialog>
  );
}
