import type { VNode } from "preact";
import type { FileRecord, FileVersionRecord } from "../../../protocol/responses.ts";
import { browserClock } from "../../service/browser-clock.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/timestamp.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { FailureNote } from "../../parts/failure-note.tsx";
import { downloadFile } from "../../service/files.ts";
import { useClient } from "../../session/client-context.ts";
import { sizeText } from "../../text/size-text.ts";

/** Saves a blob as a download of the browser. */
function saveBlob(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = filename;
  link.click();
  // The browser has started to read the blob by then.
  browserClock.after(10_000, () => URL.revokeObjectURL(url));
}

interface FileVersionsProps {
  readonly file: FileRecord;
  readonly onDelete: (version: number) => void;
}

function VersionRow({ file, version, onDelete }: FileVersionsProps & { readonly version: FileVersionRecord }): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const number = version.version;
  const download = (): void =>
    void action.run(async () => {
      saveBlob(await downloadFile(client, file.filename, number), file.filename);
      toast(`Downloaded version ${number} of ${file.filename}.`);
    });
  return (
    <li class="file-version">
      <p>
        <strong>Version {number}</strong>{" "}
        <span class="quiet">
          {sizeText(version.size)}, <Timestamp at={version.created_at} />
        </span>
      </p>
      <p class="digest">
        <abbr title="SHA-256 digest of the content">sha256</abbr>{" "}
        <code title={version.sha256}>{version.sha256.slice(0, 12)}…</code>
        <CopyButton what={`sha256 of version ${number}`} text={version.sha256} compact />
      </p>
      <div class="buttons">
        <button
          class="button"
          type="button"
          onClick={download}
          aria-disabled={action.busy}
          aria-label={`Download version ${number} of ${file.filename}`}
        >
          <Icon name="download" />
          Download
          {action.busy && <span class="spinner" />}
        </button>
        {file.versions.length > 1 && (
          <button
            class="button icon-button"
            type="button"
            aria-label={`Delete version ${number} of ${file.filename}`}
            title={`Delete version ${number}`}
            onClick={() => onDelete(number)}
          >
            <Icon name="trash" />
          </button>
        )}
      </div>
      <FailureNote failure={action.failure} />
    </li>
  );
}

/** Versions of a file, newest first. Earlier versions are collapsed. */
export function FileVersions({ file, onDelete }: FileVersionsProps): VNode {
  const [newest, ...older] = file.versions.toReversed();
  return (
    <>
      <ul class="file-versions">{newest && <VersionRow file={file} version={newest} onDelete={onDelete} />}</ul>
      {older.length > 0 && (
        <details class="more">
          <summary>
            {older.length} earlier {older.length === 1 ? "version" : "versions"}
          </summary>
          <ul class="file-versions">
            {older.map((version) => (
              <VersionRow key={version.version} file={file} version={version} onDelete={onDelete} />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
