import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { MAX_FILE_BYTES } from "../../../../protocol/limits.ts";
import { Icon } from "../../parts/icon.tsx";
import { useFileDrop } from "../../parts/use-file-drop.ts";
import { sizeText } from "../../text/size-text.ts";

/** Accepts files by drag and drop, or by a button. */
export function DropZone({
  onFiles,
}: {
  readonly onFiles: (files: readonly File[]) => void;
}): VNode {
  const input = useRef<HTMLInputElement>(null);
  const drop = useFileDrop(onFiles);
  const onPicked = (): void => {
    onFiles([...(input.current?.files ?? [])]);
    // Reset: the same file can then be chosen again.
    if (input.current) input.current.value = "";
  };
  return (
    <div class="drop-zone" {...drop}>
      <Icon name="upload" />
      <p>
        Drop files here, or{" "}
        <button class="link-button" type="button" onClick={() => input.current?.click()}>
          choose files
        </button>
      </p>
      <p class="hint">
        At most {sizeText(MAX_FILE_BYTES)} a file. Uploading a file with an existing name adds a
        version.
      </p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={onPicked}
      />
    </div>
  );
}
