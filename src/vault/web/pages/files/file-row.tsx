import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { FileRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { ManifestButton } from "../kubernetes/manifest-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { toRequestError } from "../../service/request-error.ts";
import { useAction } from "../../parts/use-action.ts";
import { savedText, saveBlob } from "../../parts/save-blob.ts";
import { downloadFile, type FileDeletion } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { FileUsedBy } from "../consumers/consumer-list.tsx";
import { sizeText } from "../../text/formats.ts";

interface DownloadButtonProps {
  readonly filename: string;
  readonly version: number;
  /** Label for screen readers. */
  readonly label: string;
  /** Shows only the icon. */
  readonly compact?: boolean;
}

/** Downloads one version of a file. While it does, the button shows how far it is, and cancels. */
function DownloadButton({ filename, version, label, compact = false }: DownloadButtonProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const abort = useRef(new AbortController());
  const [share, setShare] = useState(0);
  const what = `version ${version} of ${filename}`;
  const download = async (): Promise<void> => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setShare(0);
    try {
      const transfer = { onProgress: setShare, signal };
      saveBlob(await downloadFile(client, filename, version, transfer), filename);
      toast(savedText(what, filename));
    } catch (error) {
      if (signal.aborted) toast(`Canceled the download of ${what}.`);
      else toast(toRequestError(error).message, "bad");
    }
  };
  const onClick = (): void => {
    if (action.busy) abort.current.abort();
    else void action.run(download);
  };
  const progress = `${Math.round(share * 100)} %`;
  const shown = action.busy ? `Cancel, ${progress}: download of ${what}` : label;
  return (
    <button
      class={compact ? "button icon-button" : "button"}
      type="button"
      onClick={onClick}
      aria-label={shown}
      title={compact ? shown : undefined}
    >
      {compact && action.busy ? <span class="share">{progress}</span> : <Icon name="download" />}
      {!compact && (action.busy ? `Cancel, ${progress}` : "Download")}
    </button>
  );
}

interface FileVersionsProps {
  readonly file: FileRecord;
  readonly onDelete: (version: number) => void;
}

/** Versions of a file, newest first, with their digests. */
function FileVersions({ file, onDelete }: FileVersionsProps): VNode {
  const { filename, versions } = file;
  return (
    <div class="stack">
      <div class="buttons">
        <ManifestButton subject={{ kind: "file", file }} label={`Use in Kubernetes: ${filename}`} />
      </div>
      <ul class="file-versions" aria-label={`Versions of ${filename}`}>
        {versions.toReversed().map(({ version, size, sha256, created_at: createdAt }) => (
          <li key={version} class="file-version">
            <p>
              <strong>Version {version}</strong>{" "}
              <span class="quiet">
                {sizeText(size)}, <Timestamp at={createdAt} />
              </span>
            </p>
            <p class="digest">
              <abbr title="SHA-256 digest of the content">sha256</abbr>{" "}
              <code title={sha256}>{sha256.slice(0, 12)}…</code>
              <CopyButton what={`sha256 of version ${version}`} text={sha256} compact />
            </p>
            <div class="buttons">
              <DownloadButton
                filename={filename}
                version={version}
                label={`Download version ${version} of ${filename}`}
              />
              {versions.length > 1 && (
                <button
                  class="button"
                  type="button"
                  aria-label={`Delete version ${version} of ${filename}`}
                  onClick={() => onDelete(version)}
                >
                  Delete version
                </button>
              )}
            </div>
          </li>
        ))}
      </ul>
      <FileUsedBy filename={filename} />
    </div>
  );
}

const COLUMNS = 5;

interface FileRowProps {
  readonly file: FileRecord;
  readonly onDelete: (deletion: FileDeletion) => void;
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
            onClick={() => onDelete({ filename, expected_version: version })}
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
              onDelete={(deleted) =>
                onDelete({ filename, version: deleted, expected_version: version })
              }
            />
          </td>
        </tr>
      )}
    </>
  );
}
