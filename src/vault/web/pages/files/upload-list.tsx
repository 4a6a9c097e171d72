import type { VNode } from "preact";
import { useEffect } from "preact/hooks";
import { isEnded, type Upload, type UploadState, useUploads } from "./use-upload-queue.ts";
import { sizeText } from "../../text/formats.ts";

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

function UploadItem({ upload }: { readonly upload: Upload }): VNode {
  const { cancel, retry } = useUploads();
  const { id, file, state } = upload;
  const ended = isEnded(state);
  return (
    <li class={`upload ${state.kind}`}>
      <span class="upload-name" title={file.name}>
        {file.name} <span class="quiet">{sizeText(file.size)}</span>
      </span>
      {!ended && (
        <progress
          aria-label={`Upload of ${file.name}`}
          max={1}
          value={state.kind === "sending" ? state.share : 0}
        />
      )}
      <span class="upload-state" role={ended ? "status" : undefined}>
        {stateText(state)}
      </span>
      {!ended && (
        <button
          class="button"
          type="button"
          aria-label={`Cancel upload of ${file.name}`}
          onClick={() => cancel(id)}
        >
          Cancel
        </button>
      )}
      {state.kind === "failed" && state.retry && (
        <button
          class="button"
          type="button"
          aria-label={`Try again to upload ${file.name}`}
          onClick={() => retry(upload)}
        >
          Try again
        </button>
      )}
    </li>
  );
}

/**
 * The uploads in progress, and the results of the ended ones. Successful ones disappear with the
 * next page.
 */
export function UploadList(): VNode | null {
  const { uploads, clear } = useUploads();
  useEffect(() => () => clear("done"), [clear]);
  if (uploads.length === 0) return null;
  const done = uploads.filter(({ state }) => state.kind === "done").length;
  return (
    <section class="card upload-tray" aria-labelledby="uploads-title">
      <div class="card-head">
        <h2 id="uploads-title">
          Uploads{" "}
          <span class="quiet">
            {done} of {uploads.length} stored
          </span>
        </h2>
        {uploads.some(({ state }) => isEnded(state)) && (
          <button class="button" type="button" onClick={() => clear("ended")}>
            Clear finished
          </button>
        )}
      </div>
      <ul class="uploads">
        {uploads.map((upload) => (
          <UploadItem key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  );
}
