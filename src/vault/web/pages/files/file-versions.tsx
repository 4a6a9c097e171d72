import type { VNode } from "preact";
import type { FileRecord } from "../../../../protocol/responses.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { sizeText } from "../../text/size-text.ts";
import { DownloadButton } from "./download-button.tsx";

interface FileVersionsProps {
  readonly file: FileRecord;
  readonly onDelete: (version: number) => void;
}

/** Versions of a file, newest first, with their digests. */
export function FileVersions({ file: { filename, versions }, onDelete }: FileVersionsProps): VNode {
  return (
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
  );
}
