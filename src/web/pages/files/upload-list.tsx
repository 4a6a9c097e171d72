import type { VNode } from "preact";
import { sizeText } from "../../text/size-text.ts";
import type { Upload, UploadState } from "./use-uploads.ts";

function stateText(state: UploadState): string {
  switch (state.kind) {
    case "waiting":
      return "Waiting";
    case "sending":
      return state.share < 1 ? `${Math.round(state.share * 100)} %` : "Storing";
    case "done":
      return "Stored";
    case "failed":
      return state.message;
  }
}

function UploadItem({ upload, onCancel }: { readonly upload: Upload; readonly onCancel: (id: number) => void }): VNode {
  const { id, filename, size, state } = upload;
  const finished = state.kind === "done" || state.kind === "failed";
  return (
    <li class={`upload ${state.kind}`}>
      <span class="break">
        {filename} <span class="quiet">{sizeText(size)}</span>
      </span>
      {!finished && <progress aria-label={`Upload of ${filename}`} max={1} value={state.kind === "sending" ? state.share : 0} />}
      <span class="upload-state" role={finished ? "status" : undefined}>
        {stateText(state)}
      </span>
      {!finished && (
        <button class="button" type="button" aria-label={`Cancel upload of ${filename}`} onClick={() => onCancel(id)}>
          Cancel
        </button>
      )}
    </li>
  );
}

interface UploadListProps {
  readonly uploads: readonly Upload[];
  readonly onCancel: (id: number) => void;
  readonly onClear: () => void;
}

export function UploadList({ uploads, onCancel, onClear }: UploadListProps): VNode | null {
  if (uploads.length === 0) return null;
  return (
    <section class="card" aria-labelledby="uploads-title">
      <div class="card-head">
        <h2 id="uploads-title">Uploads</h2>
        <button class="button" type="button" onClick={onClear}>
          Clear finished
        </button>
      </div>
      <ul class="uploads">
        {uploads.map((upload) => (
          <UploadItem key={upload.id} upload={upload} onCancel={onCancel} />
        ))}
      </ul>
    </section>
  );
}
