import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileRecord } from "../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Pager } from "../../parts/pager.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { deleteFile } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { FileVersions } from "./file-versions.tsx";

const PAGE_SIZE = 25;

/** The deletion that awaits confirmation: a file, or one version of it. */
interface Deletion {
  readonly filename: string;
  readonly version?: number;
}

interface FileListProps {
  readonly files: readonly FileRecord[];
  readonly onChange: () => Promise<void>;
}

function DeleteDialog({
  deletion,
  onChange,
  onClose,
}: {
  readonly deletion: Deletion;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}): VNode {
  const client = useClient();
  const toast = useToast();
  const { filename, version } = deletion;
  const what = version === undefined ? filename : `version ${version} of ${filename}`;
  const remove = async (): Promise<void> => {
    await deleteFile(client, filename, version);
    toast(`Deleted ${what}.`);
    await onChange();
  };
  return (
    <ConfirmDialog
      title={version === undefined ? "Delete file?" : `Delete version ${version}?`}
      confirm="Delete"
      work={remove}
      onClose={onClose}
    >
      <p>
        <strong class="break">{what}</strong> {version === undefined ? "and all its versions cannot" : "cannot"} be restored.
      </p>
    </ConfirmDialog>
  );
}

export function FileList({ files, onChange }: FileListProps): VNode {
  const [deletion, setDeletion] = useState<Deletion | undefined>(undefined);
  const [wanted, setPage] = useState(0);
  if (files.length === 0) {
    return (
      <Empty icon="file" title="No files yet">
        <p>Upload certificates, configuration files or archives. All versions are stored encrypted.</p>
      </Empty>
    );
  }
  const page = Math.min(wanted, Math.floor((files.length - 1) / PAGE_SIZE));
  return (
    <>
      <ul class="files">
        {files.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((file) => (
          <li key={file.filename} class="card file">
            <div class="card-head">
              <h2 class="break">{file.filename}</h2>
              <button
                class="button icon-button"
                type="button"
                aria-label={`Delete ${file.filename}`}
                title={`Delete ${file.filename}`}
                onClick={() => setDeletion({ filename: file.filename })}
              >
                <Icon name="trash" />
              </button>
            </div>
            <FileVersions file={file} onDelete={(version) => setDeletion({ filename: file.filename, version })} />
          </li>
        ))}
      </ul>
      {files.length > PAGE_SIZE && <Pager page={page} pageSize={PAGE_SIZE} total={files.length} onPage={setPage} />}
      {deletion && <DeleteDialog deletion={deletion} onChange={onChange} onClose={() => setDeletion(undefined)} />}
    </>
  );
}
