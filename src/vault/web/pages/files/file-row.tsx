import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { FileRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { sizeText } from "../../text/size-text.ts";
import type { Deletion } from "./delete-file-dialog.tsx";
import { DownloadButton } from "./download-button.tsx";
import { FileVersions } from "./file-versions.tsx";

const COLUMNS = 5;

interface FileRowProps {
  readonly file: FileRecord;
  readonly onDelete: (deletion: Deletion) => void;
}

/** One line with a file, and its versions below while it is open. */
export function FileRow({ file, onDelete }: FileRowProps): VNode {
  const [open, setOpen] = useState(false);
  const { filename, version, versions, size, created_at: createdAt } = file;
  const deleteLabel = `Delete ${filename} with all versions`;
  return (
    <>
      <tr class={open ? "selected" : undefined}>
        <td class="name-cell">
          <button
            class="row-link"
            type="button"
            title={filename}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <bdi>{filename}</bdi>
          </button>
        </td>
        <td class="version-cell">
          {versions.length === 1 ? `Version ${version}` : `${versions.length} versions`}
        </td>
        <td class="size-cell">{sizeText(size)}</td>
        <td class="updated-cell">
          <Timestamp at={createdAt} />
        </td>
        <td class="actions-cell">
          <DownloadButton
            filename={filename}
            version={version}
            label={`Download ${filename}`}
            compact
          />
          <button
            class="button icon-button"
            type="button"
            aria-label={deleteLabel}
            title={deleteLabel}
            onClick={() => onDelete({ filename })}
          >
            <Icon name="trash" />
          </button>
        </td>
      </tr>
      {open && (
        <tr class="value-row">
          <td colSpan={COLUMNS}>
            <FileVersions
              file={file}
              onDelete={(deleted) => onDelete({ filename, version: deleted })}
            />
          </td>
        </tr>
      )}
    </>
  );
}
